import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { METRICS, type MetricName, type Metrics } from './metrics.ts';

/** What takes a number in. */
type Taker = (value: number) => void;

/** Buckets of a delay in seconds: from a minute, as soon as the settle time lets it be, to a day. */
const DELAY_BUCKETS = [60, 120, 300, 900, 1_800, 3_600, 7_200, 21_600, 86_400];

/** Buckets of the delay with which captured events land, in seconds. */
const LANDING_BUCKETS = [0.5, 1, 2, 5, 10, 30, 60, 120, 600, 3_600];

/** Buckets of an answer in seconds. */
const ANSWER_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Numbers that rise and fall; the last one counts. Other numbers in seconds are spread over buckets. */
const GAUGES: ReadonlySet<MetricName> = new Set(['InboxBytes', 'OldestDueJob']);

/** `RunsCompleted` as Prometheus names it: `workspaces_runs_completed_total`. */
function nameOf(name: MetricName): string {
  const words = `workspaces_${name.replaceAll(/(?!^)[A-Z]/g, '_$&').toLowerCase()}`;
  if (METRICS[name] === 'Seconds') return `${words}_seconds`;
  return GAUGES.has(name) ? words : `${words}_total`;
}

export interface PrometheusMetrics extends Metrics {
  /** Takes in that a request was answered. */
  readonly answered: (about: { readonly method: string; readonly status: number; readonly seconds: number }) => void;
  /** Returns all numbers in the text format, and its media type. */
  readonly text: () => Promise<{ readonly body: string; readonly mediaType: string }>;
}

/**
 * Keeps numbers in memory for Prometheus to fetch: those of the service, by the names that CloudWatch has for them on
 * AWS, what API Gateway measures there, and those of the process.
 */
export function prometheusMetrics(): PrometheusMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const takers = new Map<MetricName, Taker>(
    (Object.keys(METRICS) as MetricName[]).map((metric) => [metric, takerOf(metric, registry)]),
  );
  const answers = new Histogram({
    name: 'workspaces_http_request_duration_seconds',
    help: 'Answers, by method and status.',
    labelNames: ['method', 'status'],
    buckets: ANSWER_BUCKETS,
    registers: [registry],
  });
  return {
    record: (measures) => {
      for (const [metric, value] of Object.entries(measures)) takers.get(metric as MetricName)?.(value);
    },
    answered: ({ method, status, seconds }) => answers.observe({ method, status }, seconds),
    text: async () => ({ body: await registry.metrics(), mediaType: registry.contentType }),
  };
}

function takerOf(metric: MetricName, registry: Registry): Taker {
  const about = { name: nameOf(metric), help: `${metric} of docs/operations.md.`, registers: [registry] };
  if (GAUGES.has(metric)) {
    const gauge = new Gauge(about);
    return (value) => gauge.set(value);
  }
  if (METRICS[metric] === 'Seconds') {
    const histogram = new Histogram({ ...about, buckets: metric === 'LandingDelay' ? LANDING_BUCKETS : DELAY_BUCKETS });
    return (value) => histogram.observe(value);
  }
  const counter = new Counter(about);
  return (value) => counter.inc(value);
}
