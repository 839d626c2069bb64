/** Which version of the program this is. */
import { createRequire } from 'node:module';

export const { version: VERSION } = createRequire(import.meta.url)('../../package.json') as { version: string };
