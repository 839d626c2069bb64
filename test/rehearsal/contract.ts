import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ContractStage } from '../contract/world.ts';
import type { Stage } from './stage.ts';

/**
 * Runs the contract suite against the stage, in a process of its own: the tests whose names the pattern matches, by
 * default all. Returns how many there were. Throws what jest says when one failed.
 */
export async function contract({ address, aws, tableName, clock, customer }: Stage, pattern?: string): Promise<string> {
  const place: ContractStage = {
    address,
    aws,
    tableName,
    clockOffset: clock.offset(),
    destination: customer.destination,
  };
  const jest = [
    'node_modules/jest/bin/jest.js',
    'test/contract/rows.test.ts',
    '--ci',
    '--silent',
    '--testTimeout=60000',
    ...(pattern === undefined ? [] : ['-t', pattern]),
  ];
  const child = spawn(process.execPath, jest, {
    cwd: join(import.meta.dirname, '../..'),
    env: { ...process.env, CONTRACT_STAGE: JSON.stringify(place) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(said);
  return /^Tests: .*$/m.exec(said)?.[0] ?? said;
}
