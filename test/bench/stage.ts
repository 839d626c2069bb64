/** Operations on a stage on AWS, as the rehearsal has it: how long Lambda takes for them, and what the table does. */
import { readAssembly } from '../rehearsal/assembly.ts';
import { contract } from '../rehearsal/contract.ts';
import { startStage, synthesize } from '../rehearsal/stage.ts';
import { count, median, type Part, type Row } from './bench.ts';

/** Cases of the contract suite that send the valid request twice, by each path or by one. */
const VALID = {
  small: '^(?!.*/api/environments).* (answers a valid request|is the same without the slash)',
  whole: 'answers a valid request|is the same without the slash',
};

/** One row of each operation; the table's calls and consumed units are the mean of an invocation, as it reports them. */
export const staging: Part = async ({ say, small }) => {
  say('synthesizing the stage');
  const made = await synthesize('dev');
  const silent = () => {};
  try {
    const log = { debug: silent, info: silent, warning: silent, error: silent, with: () => log };
    const stage = await startStage({ assembly: readAssembly(made.folder), log, functionLog: silent });
    try {
      say('sending the requests of the contract suite');
      await contract(stage, small ? VALID.small : VALID.whole);
      const spent = new Map<string, { calls: number; units: number }>();
      for (const { caller, service, units } of stage.calls.log) {
        if (service !== 'dynamodb') continue;
        const { calls, units: before } = spent.get(caller) ?? { calls: 0, units: 0 };
        spent.set(caller, { calls: calls + 1, units: before + units });
      }
      return stage.lambda.statistics().flatMap(({ name, invocations, cold, warm }): Row[] => {
        if (warm.length === 0) return [];
        const { calls, units } = spent.get(name) ?? { calls: 0, units: 0 };
        return [
          {
            what: `invocation of ${name}`,
            measured: `warm ${median(warm).toFixed(0)} ms`,
            peer: `cold ${median(cold).toFixed(0)} ms`,
            ratio: median(warm) / median(cold),
            note: `table: ${(calls / invocations).toFixed(1)} calls, ${(units / invocations).toFixed(1)} units; ${count(invocations)} invocations`,
          },
        ];
      });
    } finally {
      await stage.close();
    }
  } finally {
    made.remove();
  }
};
