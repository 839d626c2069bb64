import {
  type DynamoDBClient,
  ProvisionedThroughputExceededException,
  type ServiceInputTypes,
  ThrottlingException,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';

/** Chances, each in [0, 1], of what DynamoDB does and DynamoDB Local never does. */
export interface Faults {
  readonly random: () => number;
  /** Another transaction is at the item. */
  readonly conflict?: number;
  readonly throttle?: number;
  /** The connection breaks before the request arrives. */
  readonly lostRequest?: number;
  /** The connection breaks before the answer arrives. */
  readonly lostAnswer?: number;
  /** Of a batch only a part is done. */
  readonly partial?: number;
}

type Fault = Exclude<keyof Faults, 'random'>;

export interface Injected {
  /** How often each came to pass. */
  readonly counts: Record<Fault, number>;
  /** Faults to come for certain, in this order. */
  readonly next: Fault[];
}

/** Makes requests of the client meet these faults, below the adapter. */
export function injectFaults(client: DynamoDBClient, faults: Faults): Injected {
  const counts: Injected['counts'] = { conflict: 0, throttle: 0, lostRequest: 0, lostAnswer: 0, partial: 0 };
  const next: Fault[] = [];
  const strikes = (fault: Fault): boolean => {
    const certain = next[0] === fault;
    if (certain) next.shift();
    const struck = certain || faults.random() < (faults[fault] ?? 0);
    if (struck) counts[fault] += 1;
    return struck;
  };
  client.middlewareStack.add(
    (send, { commandName = '' }) =>
      async (args) => {
        if (strikes('throttle')) throw throttling(faults.random());
        if (/^(Put|Update|Delete|Transact)/.test(commandName) && strikes('conflict')) {
          throw conflict(commandName, args.input);
        }
        if (strikes('lostRequest')) throw broken();
        const left = commandName.startsWith('Batch') && strikes('partial') ? halve(args.input) : undefined;
        const result = await send(left === undefined ? args : { ...args, input: left.taken });
        if (strikes('lostAnswer')) throw broken();
        if (left !== undefined) Object.assign(result.output, left.rest);
        return result;
      },
    { step: 'initialize', name: 'faults', priority: 'low' },
  );
  return { counts, next };
}

const $metadata = { httpStatusCode: 400 };

function throttling(which: number): Error {
  const options = { message: 'slow down', $metadata };
  return which < 0.5 ? new ThrottlingException(options) : new ProvisionedThroughputExceededException(options);
}

function conflict(commandName: string, input: object): Error {
  if (commandName !== 'TransactWriteItemsCommand') {
    return new TransactionConflictException({ message: 'a transaction is ongoing for the item', $metadata });
  }
  const items = 'TransactItems' in input && Array.isArray(input.TransactItems) ? input.TransactItems : [];
  const CancellationReasons = items.map((_, at) => ({ Code: at === 0 ? 'TransactionConflict' : 'None' }));
  return new TransactionCanceledException({ message: 'cancelled', $metadata, CancellationReasons });
}

const broken = (): Error => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });

/** Returns half of the batch, and the other half as DynamoDB hands it back. */
function halve(input: object): { taken: ServiceInputTypes; rest: object } | undefined {
  const [[name, request] = ['', undefined]] = Object.entries(
    'RequestItems' in input ? (input.RequestItems as Record<string, unknown>) : {},
  );
  if (Array.isArray(request)) {
    const half = Math.ceil(request.length / 2);
    return {
      taken: { ...input, RequestItems: { [name]: request.slice(0, half) } } as ServiceInputTypes,
      rest: half < request.length ? { UnprocessedItems: { [name]: request.slice(half) } } : {},
    };
  }
  const { Keys, ...more } = request as { Keys: unknown[] };
  const half = Math.ceil(Keys.length / 2);
  return {
    taken: { ...input, RequestItems: { [name]: { ...more, Keys: Keys.slice(0, half) } } } as ServiceInputTypes,
    rest: half < Keys.length ? { UnprocessedKeys: { [name]: { ...more, Keys: Keys.slice(half) } } } : {},
  };
}
