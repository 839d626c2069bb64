/** What is asked of a checked tree, or of syntax, as a whole: whether there is something in it, however deep. */
import { type Expression, OPERATORS, type Operator, type Signature, type Window } from './expression.ts';
import { isQuery, type Syntax } from './syntax.ts';

/** Returns the nodes of a tree, lists among them, each once: a tree may have a node in several places. */
export function nodesOf(tree: object): ReadonlySet<object> {
  // What is added to a set while it is gone through is gone through, too.
  const found = new Set([tree]);
  for (const node of found)
    for (const below of Object.values(node)) if (typeof below === 'object' && below !== null) found.add(below);
  return found;
}

type Now = Extract<Expression, { readonly now: true }>;
type Operation = Extract<Expression, { readonly operator: Operator }>;

/** Whether a checked tree asks for the moment, so that it means something else a moment later. */
export const readsNow = (tree: object): boolean => nodesOf(tree).values().some(isNow);

const isNow = (node: Partial<Now>): boolean => node.now === true;

/** Whether a checked tree takes a text for JSON, or makes one of JSON. */
export const readsJson = (tree: object): boolean => nodesOf(tree).values().some(isOfJson);

function isOfJson({ operator }: Partial<Operation>): boolean {
  if (operator === undefined) return false;
  const { takes, more, gives }: Signature = OPERATORS[operator];
  return [...takes, more, gives].includes('json');
}

/** Whether a checked tree puts rows in order group by group. */
export const sortsGroups = (tree: object): boolean => nodesOf(tree).values().some(isOfGroups);

const isOfGroups = ({ partition = [] }: Partial<Window>): boolean => partition.length > 0;

/** Whether there is a query in syntax. */
export const hasQuery = (syntax: Syntax): boolean =>
  nodesOf(syntax)
    .values()
    .some((node) => 'node' in node && isQuery(node as Syntax));
