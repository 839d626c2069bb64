import { start } from './dynamodb-local.ts';

/** Runs once, before all tests. */
export default start;
