import { replaceBatchExport } from '../../lib/exports/resource/routes.ts';
import { changing } from './update.ts';

export const handler = changing(replaceBatchExport);
