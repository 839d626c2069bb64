import { duckdbConverter } from '../../lib/warehouse/converter.ts';
import { spool, warehouse } from './runtime.ts';

/** The warehouse of the one function that reads rows: with DuckDB. 2 GB for rows, of the 4 GB that the function has. */
export const converter = () => warehouse(duckdbConverter({ spool: spool(), memoryLimit: '2GB' }));
