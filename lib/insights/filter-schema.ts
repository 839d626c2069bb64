/** What filters look like to readers of the reference: JSON Schema of what is kept as it is sent, or read elsewhere. */
import * as z from 'zod';

const NULLABLE_TEXT = { type: ['string', 'null'] };

/** Filters by properties. The component is made of what the kinds of queries read. */
export const QUERY_FILTERS = { $ref: '#/components/schemas/QueryFilters' };
const BREAKDOWN_FILTER = { $ref: '#/components/schemas/BreakdownFilter' };

/** Filters by properties, kept as they are sent. */
export const SentFilters = z.unknown().meta({ id: 'QueryFilters' });

/** What numbers are broken down by, kept as it is sent. */
export const SentBreakdown = z.unknown().meta({ id: 'BreakdownFilter' });

/** Why what is sent as filters is none. */
export const NO_FILTERS = 'Expected a list of filters, or {"type": "AND", "values": [...]}.';

/** What a dashboard, or whoever asks, says beside queries. */
export const FILTERS_OVERRIDE = {
  type: 'object',
  properties: {
    date_from: { ...NULLABLE_TEXT, description: 'Such as -7d, or a date.' },
    date_to: NULLABLE_TEXT,
    explicitDate: { type: ['boolean', 'null'] },
    properties: { ...QUERY_FILTERS, description: 'They hold beside those of the queries.' },
    breakdown_filter: {
      anyOf: [BREAKDOWN_FILTER, { type: 'null' }],
      description: 'In the place of that of trends, funnels and retentions.',
    },
    interval: { ...NULLABLE_TEXT, description: 'In the place of that of the queries that are cut by one: `week`.' },
    filterTestAccounts: { type: ['boolean', 'null'], description: "In the place of the queries' own." },
  },
  additionalProperties: true,
};
