import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Level } from '../../lib/ports/log.ts';
import { CLOUD_SETTINGS, type Settings } from '../../lib/ports/settings.ts';

export const STAGE_NAMES = ['dev', 'staging', 'prod'] as const;

/**
 * How many of a function may run at once, which is also set apart for it: no other one can take it. AWS wants 100 of the
 * account's to be left to all the others, so an account that may run fewer than that at once can set nothing apart.
 */
export interface Concurrency {
  /** Each is asked for a few milliseconds, so this many answer thousands of requests a second. */
  readonly authorizer: number;
  /** Of the function that takes events: a flood of them leaves the others of the account to the API. */
  readonly capture: number;
  /** Deliveries at once, of 4 GB each; whatever destinations do to them, the API and the tick have the rest. */
  readonly senders: number;
  /** Of the function that reads the lake for who waits, of 4 GB each; half as many for what nobody waits for. */
  readonly queries: number;
  /** Of each function by which a caller tries a destination, which may take 28 s to answer. */
  readonly tests: number;
}

/** Requests a second in the long run, and at once. */
export interface Throttle {
  readonly rate: number;
  readonly burst: number;
}

/** What differs between the stages, and nothing else. */
export interface Stage {
  readonly name: (typeof STAGE_NAMES)[number];
  /** The table cannot be deleted until somebody lifts this. */
  readonly isProtected: boolean;
  /** What the gateway lets through, of all callers together. It counts each method of each path by itself. */
  readonly throttling: {
    /** Of POST to each path at which SDKs of today send events. */
    readonly busy: Throttle;
    /** Of each other method. */
    readonly other: Throttle;
  };
  /** How long the service's own logs are kept. */
  readonly logRetention: RetentionDays;
  readonly logLevel: Level;
  /** What a month may cost, in USD; at 80 percent of it, and when it looks to be passed, somebody is told. */
  readonly monthlyBudget: number;
  /** The most memory that a function is given, in MB; one that is declared with more makes do with it. */
  readonly mostMemory: number;
  /** A web firewall stands before the API: $5 and $1 for each of its 4 rules a month, and $0.60 a million requests. */
  readonly hasFirewall: boolean;
  /** What is set apart of the functions that the account may run at once; cdk.json may say otherwise. Null: nothing. */
  readonly concurrency: Concurrency | null;
  readonly settings: Settings;
}

/** The most that Lambda gives a function. */
const LAMBDA_MEMORY = 10_240;

const STAGES: readonly Stage[] = [
  {
    name: 'dev',
    isProtected: false,
    throttling: { busy: { rate: 50, burst: 100 }, other: { rate: 50, burst: 100 } },
    logRetention: RetentionDays.TWO_WEEKS,
    logLevel: 'DEBUG',
    monthlyBudget: 20,
    // New accounts have a reduced quota of memory (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html):
    // 3,008, says Lambda itself, in https://github.com/awslabs/genai-bedrock-agent-chatbot/issues/4 for example.
    mostMemory: 3_008,
    hasFirewall: false,
    // A new account may run 10 functions at once.
    concurrency: null,
    settings: CLOUD_SETTINGS,
  },
  {
    name: 'staging',
    isProtected: false,
    throttling: { busy: { rate: 200, burst: 150 }, other: { rate: 200, burst: 150 } },
    logRetention: RetentionDays.ONE_MONTH,
    logLevel: 'INFO',
    monthlyBudget: 50,
    mostMemory: LAMBDA_MEMORY,
    hasFirewall: false,
    concurrency: { authorizer: 20, capture: 20, senders: 50, queries: 10, tests: 5 },
    settings: CLOUD_SETTINGS,
  },
  {
    name: 'prod',
    isProtected: true,
    // A Region gives an account 10,000, and 5,000 at once: a flood of events leaves a quarter of that to the API.
    throttling: { busy: { rate: 1_500, burst: 700 }, other: { rate: 500, burst: 250 } },
    logRetention: RetentionDays.THREE_MONTHS,
    logLevel: 'INFO',
    monthlyBudget: 500,
    mostMemory: LAMBDA_MEMORY,
    hasFirewall: true,
    // Some 700 of the 1,000 that a Region gives an account.
    concurrency: { authorizer: 80, capture: 100, senders: 400, queries: 50, tests: 10 },
    settings: CLOUD_SETTINGS,
  },
];

/** The stack of what must survive; it exports the names of what it holds under its own. */
export const dataStackName = ({ name }: Stage): string => `workspaces-${name}-data`;

/** The stack of what can be rebuilt. */
export const serviceStackName = ({ name }: Stage): string => `workspaces-${name}-service`;

/** What everything of a stage is marked with: its costs can be told apart by it, and what belongs to whom. */
export const tagsOf = ({ name }: Stage): Readonly<Record<string, string>> => ({ service: 'workspaces', stage: name });

/** No stage has this name; the message says what to do. */
export class UnknownStage extends Error {
  override readonly name = 'UnknownStage';
}

export function stageNamed(name: unknown): Stage {
  const found = STAGES.find((stage) => stage.name === name);
  if (found !== undefined) return found;
  throw new UnknownStage(`There is no stage ${JSON.stringify(name)}: choose one of ${STAGE_NAMES.join(', ')}.`);
}
