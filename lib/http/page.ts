/**
 * Pages of lists. Offset pages (`count`, `next`, `previous`, `results`) work with any limit and offset; `next` also
 * carries where the table stood, so that following it reads each item once. Cursor pages have no count.
 */
import { hash } from 'node:crypto';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { invalid } from '../ports/errors.ts';
import { positionOf, toCursor } from '../ports/table/cursor.ts';
import type { WholeLists } from '../ports/table/filtered.ts';
import {
  BadCursor,
  type Entry,
  type Item,
  type Listed,
  type Page,
  type Range,
  type Table,
} from '../ports/table/table.ts';
import type { NamedValues } from './body.ts';
import { headerOf } from './header.ts';
import { PAGING, type PagingRule } from './route.ts';

/** Where a request stands in a list, and what links to its neighbours are made of. */
export interface Paging {
  readonly limit: number;
  readonly offset: number;
  /** Where the last page ended, as `next` carries it. */
  readonly cursor: string | undefined;
  /** The request's own absolute address, without query; with a slash at its end or without, as sent. */
  readonly url: string;
  /** The query as sent: of each name its values, in their order. */
  readonly query: NamedValues;
}

/** A page has at most 5 MB, for a function's answer may have 6. */
const MAX_BYTES = 5_000_000;
/** Of these, its two links have at most 10 kB each. */
const MAX_LINK_BYTES = 20_000;

/**
 * Returns where a request stands in a list. Bad values of limit and offset fall back. Throws a 400 only where a list has a
 * `maxOffset`, for what is more than it promises.
 */
export function pagingOf(
  event: APIGatewayProxyEvent,
  rule: PagingRule | undefined,
  publicUrl: string | null = null,
): Paging {
  const query = event.multiValueQueryStringParameters ?? {};
  const last = (name: string): string | undefined => query[name]?.at(-1);
  const { limit, max, maxOffset } = { ...PAGING, ...rule };
  const asked = numberOf(last('limit')) || limit;
  const offset = rule?.kind === 'cursor' && maxOffset === undefined ? 0 : (numberOf(last('offset')) ?? 0);
  if (maxOffset !== undefined) refuseMore({ limit: asked, offset }, { limit: max, offset: maxOffset });
  return {
    limit: Math.min(asked, max),
    offset,
    cursor: rule?.kind === 'cursor' ? last('cursor') : cursorAt(offset, last('cursor')),
    url: addressOf(event, publicUrl),
    query,
  };
}

type Extent = Pick<Paging, 'limit' | 'offset'>;

function refuseMore(asked: Extent, most: Extent): void {
  if (asked.limit > most.limit) invalid('limit', `A page has at most ${most.limit} results.`);
  if (asked.offset > most.offset)
    invalid(
      'offset',
      `At most ${most.offset} results can be skipped. Follow \`next\`, or ask for less at a time, as by time.`,
    );
}

/** Returns a whole number as PostHog reads it: `+2` and ` 2 ` are 2. Undefined when it is none. */
function numberOf(value: string | undefined): number | undefined {
  if (value === undefined || !/^\s*\+?\d+\s*$/.test(value)) return undefined;
  return Math.min(Number(value), Number.MAX_SAFE_INTEGER);
}

/** Returns the cursor of `<offset>.<cursor>`, as `next` carries it; undefined when the caller changed the offset. */
function cursorAt(offset: number, value: string | undefined): string | undefined {
  const prefix = `${offset}.`;
  return value?.startsWith(prefix) === true ? value.slice(prefix.length) : undefined;
}

/**
 * Returns the request's own address without its query: below the public address, if there is one; else on the host that
 * the caller named, with the stage's prefix. API Gateway's domain is served over TLS; a request that names none came to
 * the local gateway, which hands on a host that leads to it.
 */
function addressOf({ requestContext, headers }: APIGatewayProxyEvent, publicUrl: string | null): string {
  const { domainName, path } = requestContext;
  if (publicUrl !== null) return `${publicUrl}${path}`;
  if (domainName !== undefined) return `https://${domainName}${path}`;
  const host = headerOf(headers, 'host') ?? '';
  return `http://${/^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}${path}`;
}

/** Returns where the service is: the origin of its links, with the prefix of a stage or of the public address. */
export const baseOf = ({ url }: Paging): string => url.slice(0, url.lastIndexOf('/api/'));

/** Returns the address with some parameters set, or taken out (null), in alphabetical order. */
function linkTo({ url, query }: Paging, changes: Readonly<Record<string, string | number | null>>): string {
  const changed = new Map(Object.entries(changes));
  const parameters = new URLSearchParams();
  for (const [name, values] of Object.entries(query))
    if (!changed.has(name)) for (const value of [values ?? []].flat()) parameters.append(name, value);
  for (const [name, value] of changed) if (value !== null) parameters.append(name, String(value));
  parameters.sort();
  return `${url}?${parameters.toString()}`;
}

/** Returns one page of a range, and how many items the range holds. A cursor that does not fit is passed over. */
export async function readPage<T extends Item>(
  table: Table,
  range: Range<T>,
  { limit, offset, cursor }: Pick<Paging, 'limit' | 'offset' | 'cursor'>,
): Promise<{ items: T[]; count: number; cursor: string | undefined }> {
  const read = async (place: { after: string } | { skip: number }) => {
    const { items, count = 0, cursor } = await table.list(range, { limit, count: true, ...place });
    return { items, count, cursor };
  };
  if (cursor === undefined) return read({ skip: offset });
  try {
    return await read({ after: cursor });
  } catch (error) {
    if (error instanceof BadCursor) return read({ skip: offset });
    throw error;
  }
}

/** How many items the whole list has, and where the table stood after those of the page. */
interface PagePosition {
  readonly count: number;
  readonly cursor?: string | undefined;
  /** How many items of the page were taken, where that is not all of them. */
  readonly taken?: number | undefined;
}

/**
 * Returns the first items of a page that may fit into an answer, by the characters that they hold: what cannot be shown
 * need not become an object. `OffsetPage` measures those that are left.
 */
export function fittingItems<T>(
  items: readonly T[],
  charactersOf: (item: T) => number,
): { taken?: number; items: readonly T[] } {
  let characters = 0;
  const last = items.findIndex((item) => (characters += charactersOf(item)) > MAX_BYTES);
  return last < 0 || last === items.length - 1 ? { items } : { items: items.slice(0, last + 1), taken: last + 1 };
}

/** Returns the body of an offset list: `items` are those of the asked limit and offset, of `count` in all. */
export function page<T, R>(
  paging: Paging,
  { items, ...position }: PagePosition & { readonly items: readonly T[] },
  render: (item: T) => R,
): OffsetPage<R> {
  return new OffsetPage(paging, items.map(render), position);
}

/** The body of an offset list, with the links that its results call for. */
export class OffsetPage<R> {
  readonly count: number;
  readonly next: string | null;
  readonly previous: string | null;
  readonly results: R[];
  readonly #paging: Paging;
  readonly #taken: number | undefined;

  constructor(paging: Paging, results: R[], { count, cursor, taken }: PagePosition) {
    const { limit, offset } = paging;
    const end = offset + (taken ?? limit);
    const start = offset - limit;
    const place = cursor === undefined || taken !== undefined ? null : `${end}.${cursor}`;
    this.count = count;
    // Where the table has more, there is a next page, though `count` may be below it when what was read is deleted.
    this.next = place === null && end >= count ? null : linkTo(paging, { limit, offset: end, cursor: place });
    this.previous = offset === 0 ? null : linkTo(paging, { limit, offset: start > 0 ? start : null, cursor: null });
    this.results = results;
    this.#paging = paging;
    this.#taken = taken;
  }

  /**
   * Returns the page, unless its text (JSON) is too long for an answer: then what fits, and always the first result;
   * `next` goes on from there. Pages are hardly ever too long, so none is measured before it is text.
   */
  fitting(text: string): OffsetPage<R> {
    if (Buffer.byteLength(text) <= MAX_BYTES) return this;
    const results = firstThatFit(this.results);
    const taken = results.length < this.results.length ? results.length : this.#taken;
    return new OffsetPage(this.#paging, results, { count: this.count, taken });
  }
}

/** Returns the first results that fit into an answer, at least one. */
function firstThatFit<R>(results: readonly R[]): R[] {
  let bytes = MAX_LINK_BYTES;
  const over = results.findIndex(
    (result, n) => (bytes += Buffer.byteLength(JSON.stringify(result)) + 1) > MAX_BYTES && n > 0,
  );
  return over === -1 ? [...results] : results.slice(0, over);
}

/** The items of a cursor page, and the cursors of its links. */
export interface CursorPage<T extends Item = Item> {
  readonly items: T[];
  readonly next: string | undefined;
  readonly previous: string | undefined;
}

const CURSOR = /^(after|before)\.([\w-]{8})\.(.+)$/;

/** Returns one page of a range, forward from a cursor or back. Throws `BadCursor` for a cursor of another list or order. */
export async function readCursorPage<T extends Item>(
  table: { list(range: Range<NoInfer<T>>, page: Page): Promise<Listed<NoInfer<T>>> },
  range: Range<T>,
  paging: Pick<Paging, 'limit' | 'cursor'>,
): Promise<CursorPage<T>>;
export async function readCursorPage<T extends Item>(
  table: WholeLists<T>,
  range: Range<NoInfer<T>> | Range<Entry<NoInfer<T>>>,
  paging: Pick<Paging, 'limit' | 'cursor'>,
): Promise<CursorPage<T>>;
export async function readCursorPage(
  table: { list(range: Range, page: Page): Promise<Listed> },
  range: Range | Range<Entry>,
  { limit, cursor }: Pick<Paging, 'limit' | 'cursor'>,
): Promise<CursorPage> {
  const mark = markOf(range);
  const [, way = 'after', marked = mark, place] = cursor === undefined ? [] : (CURSOR.exec(cursor) ?? fault());
  if (marked !== mark) fault();
  const isBack = way === 'before';
  const listed = await table.list(
    { ...(range as Range), newestFirst: (range.newestFirst ?? false) !== isBack },
    { limit, after: place },
  );
  const items = isBack ? listed.items.toReversed() : listed.items;
  const at = (item: Item | undefined) => (item === undefined ? undefined : toCursor(range, positionOf(range, item)));
  const hasMore = listed.cursor !== undefined;
  const isFirst = isBack ? !hasMore : place === undefined;
  const isLast = isBack ? items.length === 0 : !hasMore;
  const [first, last] = [at(items[0]), at(items.at(-1))];
  return {
    items,
    next: isLast ? undefined : linkPart(`after.${mark}`, isBack ? last : listed.cursor),
    previous: isFirst ? undefined : linkPart(`before.${mark}`, isBack ? listed.cursor : first),
  };
}

/** Returns what tells a list in its order from others: a cursor says only where in it. Bounds of time may go on meanwhile. */
const markOf = ({ partition, index, prefix, newestFirst = false }: Range | Range<Entry>): string =>
  hash('sha256', JSON.stringify([partition, index, prefix, newestFirst]), 'base64url').slice(0, 8);

const linkPart = (way: string, place: string | undefined): string | undefined =>
  place === undefined ? undefined : `${way}.${place}`;

function fault(): never {
  throw new BadCursor();
}

/** Returns the body of a cursor list. Throws a 400 where it would be short, and who asked for it by offset would end there. */
export function cursorPage<T, R>(
  paging: Paging,
  { items, next, previous }: { items: readonly T[]; next: string | undefined; previous: string | undefined },
  render: (item: T) => R,
): { next: string | null; previous: string | null; results: R[] } {
  const to = (cursor: string | undefined) =>
    cursor === undefined ? null : linkTo(paging, { cursor, ...(paging.offset === 0 ? {} : { offset: null }) });
  const results = items.map(render);
  if (mustBeWhole(paging)) refuseShort(paging, results, next !== undefined);
  return { next: to(next), previous: to(previous), results };
}

/** Whoever follows a cursor looks for the next one. Others may count; larger pages than usual are given to them only. */
const mustBeWhole = ({ limit, offset, cursor }: Paging): boolean =>
  cursor === undefined && (offset > 0 || limit > PAGING.max);

function refuseShort({ limit }: Paging, results: readonly unknown[], hasMore: boolean): void {
  const fit = firstThatFit(results).length;
  if (fit < results.length || (hasMore && fit < limit))
    invalid('limit', `A page of ${limit} would be too large: ${fit} fit. Ask for fewer at a time.`);
}
