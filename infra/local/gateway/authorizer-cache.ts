import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda';
import { wasLately } from '../../../lib/basics/lately.ts';
import { Recent } from '../../../lib/basics/recent.ts';
import { MINUTE_MS } from '../../../lib/basics/units.ts';

/** How long an answer is kept, in both runtimes: 60 s. */
export const AUTHORIZER_TTL_MS = MINUTE_MS;
/** Answers kept at most; about 1 kB each, so 10 MB. */
const MAX_KEPT = 10_000;

/** An authorizer's answer, as the gateway goes on with it. */
interface Authorized {
  /** May a request to this ARN pass? */
  readonly permits: (methodArn: string) => boolean;
  /** Its context, all text, and the principal. */
  readonly context: Readonly<Record<string, string>>;
}

export type Authorizer = (event: APIGatewayRequestAuthorizerEvent) => Promise<APIGatewayAuthorizerResult>;

/** Asks the authorizer and keeps its answers, refusals too, by header, method and route template; never a throw. */
export function authorizerCache(
  authorizer: Authorizer,
  clock: () => number,
): (identity: string, event: () => APIGatewayRequestAuthorizerEvent) => Authorized | Promise<Authorized> {
  const kept = new Recent<{ readonly at: number; readonly answer: Authorized }>(MAX_KEPT);
  return (identity, event) => {
    const known = kept.get(identity);
    if (known !== undefined && wasLately(known.at, clock(), AUTHORIZER_TTL_MS)) return known.answer;
    return authorizer(event()).then((result) => {
      const answer = { permits: permission(result.policyDocument), context: textContext(result) };
      kept.set(identity, { at: clock(), answer });
      return answer;
    });
  };
}

/** Deny wins over Allow; nothing said is a refusal. */
function permission({ Statement }: APIGatewayAuthorizerResult['policyDocument']): (methodArn: string) => boolean {
  const resources = (effect: string): (string | undefined)[] =>
    Statement.filter((statement) => statement.Effect === effect).flatMap((statement) =>
      'Resource' in statement ? statement.Resource : [],
    );
  const allowed = resources('Allow');
  const denied = resources('Deny');
  return (arn) =>
    allowed.some((resource) => covers(resource, arn)) && !denied.some((resource) => covers(resource, arn));
}

/** A resource is an ARN, or the beginning of ARNs and `*`. */
function covers(resource: string | undefined, arn: string): boolean {
  return resource?.endsWith('*') === true ? arn.startsWith(resource.slice(0, -1)) : arn === resource;
}

/** API Gateway carries text, numbers and booleans, as text; anything else breaks the authorizer there. */
function textContext({ principalId, context }: APIGatewayAuthorizerResult): Record<string, string> {
  const text: Record<string, string> = { principalId };
  for (const [name, value] of Object.entries(context ?? {})) {
    if (!['string', 'number', 'boolean'].includes(typeof value)) {
      throw new TypeError(`the authorizer's context holds what API Gateway cannot carry: ${name}`);
    }
    text[name] = String(value);
  }
  return text;
}
