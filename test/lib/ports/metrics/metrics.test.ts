import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { logTo } from '../../../../lib/ports/log.ts';
import { emfMetrics } from '../../../../lib/ports/metrics/emf.ts';
import { loggedMetrics } from '../../../../lib/ports/metrics/logged.ts';
import { METRICS } from '../../../../lib/ports/metrics/metrics.ts';

test.each(['operations.md', 'operate-one-machine.md'])('%s names every number', (page) => {
  const text = readFileSync(join(import.meta.dirname, '../../../../docs', page), 'utf8');
  for (const name of Object.keys(METRICS)) expect(text).toContain(`\`${name}\``);
});

describe('metrics in the embedded metric format', () => {
  const record = (...args: Parameters<ReturnType<typeof emfMetrics>['record']>) => {
    const written: string[] = [];
    emfMetrics({ write: (text) => void written.push(text), clock: () => 1234, stage: 'dev' }).record(...args);
    return written;
  };

  test('are one line of JSON that names each number with its unit, for the stage', () => {
    const [line = '', ...more] = record({ RowsDelivered: 7, DeliveryLag: 1.5 }, { export: 'e' });
    expect(more).toEqual([]);
    expect(line.endsWith('}\n')).toBe(true);
    expect(JSON.parse(line)).toEqual({
      stage: 'dev',
      export: 'e',
      RowsDelivered: 7,
      DeliveryLag: 1.5,
      _aws: {
        Timestamp: 1234,
        CloudWatchMetrics: [
          {
            Namespace: 'Workspaces',
            Dimensions: [['stage']],
            Metrics: [
              { Name: 'RowsDelivered', Unit: 'Count' },
              { Name: 'DeliveryLag', Unit: 'Seconds' },
            ],
          },
        ],
      },
    });
  });

  test('keep the stage, whatever the numbers are of', () => {
    expect(JSON.parse(record({ KeysRefused: 1 }, { stage: 'prod' })[0] ?? '')).toMatchObject({ stage: 'dev' });
  });
});

test('on one machine, numbers other than zero are lines of the log for whoever asked for all of it', () => {
  const lines: unknown[] = [];
  const metrics = loggedMetrics(logTo((line) => lines.push(line), Date.now, 'DEBUG'));
  metrics.record({ OldestDueJob: 0 });
  metrics.record({ OldestDueJob: 61 }, { job: 'j' });
  expect(lines).toMatchObject([{ level: 'DEBUG', message: 'measured', fields: { job: 'j', OldestDueJob: 61 } }]);
});
