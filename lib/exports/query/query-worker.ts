/** The program of a worker that reads and compiles queries and filters of exports. */
import { serveTasks } from '../../workers/serve.ts';
import { type Compiler, directCompiler } from './compiler.ts';

void serveTasks(async () => {
  const compiler = directCompiler();
  const alone = { organization: '' };
  return {
    fields: (sent: Parameters<Compiler['fields']>[0]) => compiler.fields(sent, alone),
    selection: (stored: Parameters<Compiler['selection']>[0]) => compiler.selection(stored, alone),
  };
});
