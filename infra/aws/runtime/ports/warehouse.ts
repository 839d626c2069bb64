import { athenaWarehouse, type Converter } from '../../../../lib/warehouse/athena.ts';
import { variable } from '../environment.ts';
import { lake } from './lake.ts';
import { runFiles } from './run-files.ts';

export const warehouse = (converter?: Converter) =>
  athenaWarehouse({
    database: variable('LAKE_DATABASE'),
    workGroup: variable('WORK_GROUP'),
    lake: lake(),
    runFiles: runFiles(),
    ...(converter === undefined ? {} : { converter }),
  });
