import { stop } from './dynamodb-local.ts';

/** Runs once, after all tests. */
export default stop;
