/**
 * Loaded first (`node --import`), kills the process with SIGKILL before its n-th call of the file system, n from
 * `KILL_AT`. To die after a call is to die before the next.
 */
import { watchFileCalls } from './file-calls.ts';

const at = Number(process.env['KILL_AT']);
let calls = 0;
await watchFileCalls(() => {
  calls += 1;
  if (calls === at) process.kill(process.pid, 'SIGKILL');
});
