/** Lets Node.js run this package's TypeScript where it is installed below `node_modules`. */
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';

const root = new URL('../../..', import.meta.url).href;

registerHooks({
  load(url, context, next) {
    const isOurs = url.startsWith(root) && url.endsWith('.ts') && !url.slice(root.length).includes('node_modules/');
    if (!isOurs) return next(url, context);
    const source = stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8'));
    return { format: 'module', source, shortCircuit: true };
  },
});
