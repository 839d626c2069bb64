import type { Context } from '../../lib/ports/context.ts';
import type { StepRunner } from '../../lib/workflow/step.ts';

/** Functions by name (the file below `functions/`), each loaded when first asked for and bound to the context. */
export function functionsOf<Bound>(context: Context): (name: string) => Promise<Bound> {
  const known = new Map<string, Promise<Bound>>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const loading = import(`../../functions/${name}.ts`).then((module: { handler: (context: Context) => Bound }) =>
      module.handler(context),
    );
    known.set(name, loading);
    loading.catch(() => known.delete(name));
    return loading;
  };
}

/** Returns the step of a name. */
export type NamedSteps = (name: string) => StepRunner;

/** Returns the steps below `functions/steps`, each loaded when it first runs. */
export function stepRunners(context: Context): NamedSteps {
  const functionNamed = functionsOf<StepRunner>(context);
  return (name) => async (input, signal) => (await functionNamed(`steps/${name}`))(input, signal);
}
