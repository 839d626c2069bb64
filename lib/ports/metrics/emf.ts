import { METRICS, type MetricName, type Metrics } from './metrics.ts';

/** CloudWatch keeps the numbers here, apart for each stage. */
export const NAMESPACE = 'Workspaces';
export const DIMENSION = 'stage';

interface EmfOptions {
  readonly write: (text: string) => void;
  readonly clock: () => number;
  readonly stage: string;
}

/**
 * Writes numbers as lines of the log in CloudWatch's embedded metric format, which CloudWatch Logs turns into metrics:
 * nothing to call, and nothing to wait for. https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export const emfMetrics = ({ write, clock, stage }: EmfOptions): Metrics => ({
  record: (measures, about) => {
    const Metrics = (Object.keys(measures) as MetricName[]).map((Name) => ({ Name, Unit: METRICS[Name] }));
    const _aws = {
      Timestamp: clock(),
      CloudWatchMetrics: [{ Namespace: NAMESPACE, Dimensions: [[DIMENSION]], Metrics }],
    };
    write(`${JSON.stringify({ ...about, ...measures, [DIMENSION]: stage, _aws })}\n`);
  },
});
