/** `npm run openapi`: writes docs/openapi.json from the rows; with `--check` it only says whether that is up to date. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { document } from '../../lib/api/computed/document.ts';

const file = new URL('../../docs/openapi.json', import.meta.url);
const made = `${JSON.stringify(document, null, 2)}\n`;

if (process.argv.includes('--check')) {
  if (!existsSync(file) || made !== readFileSync(file, 'utf8')) {
    process.stderr.write('docs/openapi.json is not what the rows say. Run `npm run openapi`.\n');
    process.exitCode = 1;
  }
} else {
  writeFileSync(file, made);
}
