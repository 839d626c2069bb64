import { variable } from '../environment.ts';
import { filesIn } from '../files.ts';

export const lake = () => filesIn(variable('LAKE_BUCKET'));
