/** An export's own query and filters: checked when they are written, compiled anew by every run that is begun. */

import type { Expression, QueryColumn, Selected } from '../../hogql/expression.ts';
import type { Parser } from '../../hogql/parse.ts';
import { refuse, refusedAs } from '../../hogql/refusal.ts';
import type { Syntax } from '../../hogql/syntax.ts';
import { schemaOf } from '../../hogql/text.ts';
import { trinoColumn, trinoText } from '../../hogql/trino.ts';
import { EVENTS_TABLE } from '../../lake/events-table.ts';
import { invalid, Permanent } from '../../ports/errors.ts';
import { fromJsonText, toJsonText } from '../../ports/table/json-text.ts';
import type { BatchExportItem, BatchExportPatch } from '../records/model.ts';
import { type CheckedQuery, checkedQuery } from './events-query.ts';
import { filterCondition } from './filters.ts';

/** Columns and condition of an export; null: the destination's columns, no condition. Plain JSON. */
export interface Selection {
  readonly select: readonly QueryColumn[] | null;
  readonly where: Expression | null;
}

/** Who reads the events, in the words of refusals. */
const READER = 'Batch exports';

export type StoredQuery = Pick<BatchExportItem, 'hogql_query' | 'schema' | 'filters'>;

/** Those of the stored fields that were sent. */
export type QueryFields = Partial<StoredQuery>;

/**
 * Athena's SQL of a query, and of the filters, in bytes: together with intervals and names of events it is at most the
 * 150 kB that the query of a batch may have.
 */
const MAX_QUERY_SQL = 60_000;
const MAX_FILTERS_SQL = 30_000;

/** Returns what is stored of the query and the filters that were sent. Fails with 400 for what cannot be exported. */
export async function queryFields(
  parser: Parser,
  { hogql_query, filters }: Pick<BatchExportPatch, 'hogql_query' | 'filters'>,
): Promise<QueryFields> {
  return {
    ...(hogql_query === undefined ? {} : await explained('hogql_query', () => fieldsOfQuery(parser, hogql_query))),
    ...(filters === undefined ? {} : await explained('filters', () => fieldsOfFilters(parser, filters))),
  };
}

async function fieldsOfQuery(
  parser: Parser,
  query: string | null,
): Promise<Pick<StoredQuery, 'hogql_query' | 'schema'>> {
  if (query === null) return { hogql_query: null, schema: null };
  const syntax = await parser.query(query);
  return { hogql_query: query, schema: toJsonText(schemaOf(compiled(syntax).syntax)) };
}

async function fieldsOfFilters(parser: Parser, filters: unknown): Promise<Pick<StoredQuery, 'filters'>> {
  const condition = await compiledFilters(parser, filters);
  return { filters: condition === null ? null : toJsonText(filters as unknown[]) };
}

const explained = <T>(attr: string, work: () => Promise<T>): Promise<T> =>
  refusedAs(work, ({ message }) => invalid(attr, message));

/** Returns what a run of the export selects. Throws `Permanent` when what is stored is not supported, or no longer. */
export async function selectionOf(parser: Parser, { hogql_query, filters }: StoredQuery): Promise<Selection> {
  const query =
    hogql_query === null ? null : await still('hogql_query', async () => compiled(await parser.query(hogql_query)));
  const condition = filters ? await still('filters', () => compiledFilters(parser, fromJsonText(filters))) : null;
  const conditions = [query?.where ?? null, condition].filter((one) => one !== null);
  const where: Expression | null =
    conditions.length > 1 ? { operator: 'and', of: conditions, type: 'boolean' } : (conditions[0] ?? null);
  return { select: query?.select ?? null, where };
}

const still = <T>(field: string, work: () => Promise<T>): Promise<T> =>
  refusedAs(work, ({ message }) => {
    throw new Permanent(`The '${field}' of the batch export cannot be run: ${message}. Change it.`);
  });

function compiled(syntax: Syntax): CheckedQuery {
  const query = checkedQuery(syntax, EVENTS_TABLE, READER);
  const columns = query.select.filter((one): one is Selected => !('all' in one));
  checkLength([...columns.map((one) => trinoColumn(one, '0')), ...printed(query.where)], MAX_QUERY_SQL);
  return query;
}

async function compiledFilters(parser: Parser, filters: unknown): Promise<Expression | null> {
  const condition = await filterCondition(parser, EVENTS_TABLE, filters, READER);
  checkLength(printed(condition), MAX_FILTERS_SQL);
  return condition;
}

const printed = (condition: Expression | null): string[] => (condition === null ? [] : [trinoText(condition, '0')]);

function checkLength(sql: readonly string[], most: number): void {
  if (sql.reduce((sum, one) => sum + Buffer.byteLength(one), 0) > most) refuse('The query is too complex');
}
