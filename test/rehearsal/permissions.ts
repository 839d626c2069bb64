/**
 * The rights of an assembly's roles, as IAM would decide them: the statements that the templates have, and a refusal of
 * whatever they do not use today (Deny, NotAction, other conditions). Remembers what was refused and what was used.
 */
import type { Assembly, Properties, Resource } from './assembly.ts';

/** An action on a resource, with the condition keys that the request has (values in a list: the key has several). */
export interface Access {
  readonly action: string;
  readonly resource: string;
  readonly keys?: Readonly<Record<string, string>>;
}

interface Refusal extends Access {
  readonly role: string;
  /** The asker, in words. */
  readonly caller: string;
}

export interface Permissions {
  /** Returns whether the role may. A refusal, here and of `mayInvoke`, is remembered, and fails the rehearsal. */
  allows(role: string, access: Access, caller: string): boolean;
  /** Returns whether this service (`apigateway.amazonaws.com`) may invoke the function for this source. */
  mayInvoke(lambda: string, principal: string, source: string): boolean;
  /** Returns whether there is the right, without noting a use of it. */
  has(role: string, access: Access): boolean;
  readonly refusals: readonly Refusal[];
  /** `action resource` of statements that a role did not use, and the roles that did not. */
  unused(): ReadonlyMap<string, readonly string[]>;
}

interface Statement {
  readonly role: string;
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  readonly conditions: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
  /** `action resource` as the statement has them. */
  readonly used: Set<string>;
}

const list = (value: string | readonly string[]): readonly string[] => (typeof value === 'string' ? [value] : value);

/** A pattern of IAM: `*` is any text, `?` any character. */
function covers(pattern: string, text: string): boolean {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(text);
}

export function permissionsOf(assembly: Assembly): Permissions {
  const statements = assembly.ofType('AWS::IAM::Policy').flatMap(statementsOf);
  for (const { id, properties } of assembly.ofType('AWS::IAM::Role')) {
    if (properties['Policies'] !== undefined) throw new Error(`the rehearsal does not know the policies within ${id}`);
  }
  const roles = new Map(assembly.ofType('AWS::IAM::Role').map((role) => [assembly.attribute(role, 'Arn'), role.ref]));
  const ids = new Map(assembly.ofType('AWS::IAM::Role').map(({ ref, id }) => [ref, id]));
  const invocations = assembly.ofType('AWS::Lambda::Permission').map(({ properties }) => properties);
  const refusals: Refusal[] = [];

  const matching = (role: string, { action, resource, keys = {} }: Access) =>
    statements.flatMap((statement) => {
      if (statement.role !== roles.get(role) || !holds(statement.conditions, keys)) return [];
      const named = statement.actions.find((one) => covers(one.toLowerCase(), action.toLowerCase()));
      const on = statement.resources.find((one) => covers(one, resource));
      return named === undefined || on === undefined ? [] : [{ statement, use: `${named} ${on}` }];
    });

  return {
    refusals,
    has: (role, access) => matching(role, access).length > 0,
    allows: (role, access, caller) => {
      const found = matching(role, access);
      for (const { statement, use } of found) statement.used.add(use);
      if (found.length === 0) refusals.push({ ...access, role: ids.get(roles.get(role) ?? '') ?? role, caller });
      return found.length > 0;
    },
    mayInvoke: (lambda, principal, source) => {
      const allowed = invocations.some(
        ({ Action, FunctionName, Principal, SourceArn }) =>
          Action === 'lambda:InvokeFunction' &&
          FunctionName === lambda &&
          Principal === principal &&
          (SourceArn === undefined || covers(SourceArn, source)),
      );
      if (!allowed)
        refusals.push({ action: 'lambda:InvokeFunction', resource: lambda, role: principal, caller: source });
      return allowed;
    },
    unused: () => {
      const left = new Map<string, string[]>();
      for (const { role, actions, resources, used } of statements) {
        const rights = actions.flatMap((action) => resources.map((resource) => `${action} ${resource}`));
        for (const right of rights) {
          if (!used.has(right)) left.set(right, [...(left.get(right) ?? []), ids.get(role) ?? role]);
        }
      }
      return left;
    },
  };
}

function statementsOf({ id, properties }: Resource): Statement[] {
  return (properties['Roles'] as string[]).flatMap((role) =>
    (properties['PolicyDocument']['Statement'] as Properties[]).map((statement) => {
      const { Effect, Action, Resource: resource, Condition = {}, ...others } = statement;
      const [odd] = Object.keys(others).filter((name) => name !== 'Sid');
      if (Effect !== 'Allow' || odd !== undefined)
        throw new Error(`the rehearsal does not know ${odd ?? Effect} in ${id}`);
      return { role, actions: list(Action), resources: list(resource), conditions: Condition, used: new Set<string>() };
    }),
  );
}

function holds(conditions: Statement['conditions'], keys: Readonly<Record<string, string>>): boolean {
  return Object.entries(conditions).every(([operator, wanted]) =>
    Object.entries(wanted).every(([key, value]) => {
      const found = keys[key];
      switch (operator) {
        case 'Null':
          return list(value).includes(String(found === undefined));
        case 'StringEquals':
          return found !== undefined && list(value).includes(found);
        case 'StringLike':
        case 'ArnLike':
          return found !== undefined && list(value).some((pattern) => covers(pattern, found));
        case 'ForAllValues:StringLike':
          return found === undefined || list(value).some((pattern) => covers(pattern, found));
        default:
          throw new Error(`the rehearsal does not know the condition ${operator}`);
      }
    }),
  );
}
