import { duckdbConverter } from '../../lib/warehouse/converter.ts';
import { runFiles, warehouse } from './runtime.ts';

/** The warehouse of the one function that reads rows: with DuckDB. 2 GB for rows, of the 4 GB that the function has. */
export const converter = () => warehouse(duckdbConverter({ runFiles: runFiles(), memoryLimit: '2GB' }));
