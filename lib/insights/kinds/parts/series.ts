/** The series of an insight: which events it counts, and by what name its results go. */
import * as z from 'zod';
import { inQuotes } from '../../../basics/text.ts';
import type { Syntax } from '../../../hogql/syntax.ts';
import { all, any, call, constant, field } from '../../../hogql/write.ts';
import type { World } from '../kind.ts';
import { firstEvent } from './date-range.ts';
import { propertyCondition, propertyFilters } from './property-filters.ts';

const LACKING_NODES: Readonly<Record<string, string>> = {
  ActionsNode: 'Actions are not supported. Use an EventsNode with the event and the properties of the action.',
  DataWarehouseNode: 'Tables of a data warehouse are not supported. Use an EventsNode.',
  PersonsNode: 'A series of persons is not supported. Use an EventsNode.',
  GroupNode: 'A series of several events is not supported. Use an EventsNode for each of them.',
};

const nodeKind = z
  .unknown()
  .superRefine((kind, context) => {
    if (kind === 'EventsNode') return;
    const lacking = typeof kind === 'string' && Object.hasOwn(LACKING_NODES, kind) ? LACKING_NODES[kind] : undefined;
    const message = lacking ?? `A series is one of these: ${inQuotes(['EventsNode'])}.`;
    context.addIssue({ code: 'custom', message });
  })
  .register(z.globalRegistry, { enum: ['EventsNode'] });

/** A series of a query: the events of one name, or all of them. */
export const Series = z.object({
  kind: nodeKind.optional(),
  // PostHog's clients send an empty name for events of any name, too.
  event: z.string().nullish().describe('Null: events of any name.'),
  name: z.string().nullish(),
  custom_name: z.string().nullish(),
  properties: propertyFilters(),
  fixedProperties: propertyFilters(),
  math: z.string().nullish(),
  math_property: z.string().nullish(),
  math_hogql: z.string().nullish(),
  math_group_type_index: z.number().nullish(),
});
export type Series = z.output<typeof Series>;

/** What PostHog calls events of any name. */
const ALL_EVENTS = 'All events';

/** Returns the condition of the events of a series: their name, and what their properties must be. */
export async function seriesCondition(
  { event, properties, fixedProperties }: Pick<Series, 'event' | 'properties' | 'fixedProperties'>,
  world: World,
): Promise<Syntax> {
  const passed = await propertyCondition({ properties, fixedProperties }, world);
  return all([...(event ? [call('equals', field('event'), constant(event))] : []), passed]);
}

/** Returns the time of the first event of any series that passes a condition, milliseconds since 1970; undefined: there is none. */
export async function firstOfSeries(
  series: readonly Parameters<typeof seriesCondition>[0][],
  passed: Syntax,
  world: World,
): Promise<number | undefined> {
  const conditions = await Promise.all(series.map(async (one) => seriesCondition(one, world)));
  return firstEvent(world, all([any(conditions), passed]));
}

/** What a result says of the series that it is of. */
interface SeriesLabel {
  readonly label: string;
  readonly action: Readonly<Record<string, unknown>>;
}

/** Returns the members of a result that tell of its series, the `order`th of its query, from 0. */
export function labelOfSeries(series: Series, order: number): SeriesLabel {
  const id = series.event || null;
  const label = id ?? ALL_EVENTS;
  const action = {
    id,
    type: 'events',
    order,
    name: label,
    custom_name: series.custom_name ?? null,
    math: series.math ?? null,
    math_property: series.math_property ?? null,
    math_hogql: series.math_hogql ?? null,
    math_group_type_index: series.math_group_type_index ?? null,
    properties: {},
  };
  return { label, action };
}
