import { variable } from '../environment.ts';
import { filesIn } from '../files.ts';

export const runFiles = () => filesIn(variable('RUN_FILES_BUCKET'));
