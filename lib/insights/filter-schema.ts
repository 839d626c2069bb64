/** What filters look like to readers of the reference: JSON Schema of what is kept as it is sent, or read elsewhere. */

const NULLABLE_TEXT = { type: ['string', 'null'] };

const PROPERTY_FILTER = {
  type: 'object',
  properties: {
    key: { type: 'string', description: 'The name of a property or a column; of type hogql, a condition.' },
    operator: { type: 'string', description: 'Such as exact, is_not, icontains, regex, gt, is_set. Default: exact.' },
    value: { description: 'A text, a number, true or false, or a list of them, one of which is enough.' },
    type: { type: 'string', enum: ['event', 'person', 'session', 'event_metadata', 'hogql'] },
  },
  additionalProperties: true,
};

const FILTER_GROUP = {
  type: 'object',
  description: 'Filters and groups, all of which must hold (AND), or one (OR).',
  properties: {
    type: { type: 'string', enum: ['AND', 'OR'] },
    values: { type: 'array', items: { type: 'object', additionalProperties: true } },
  },
  additionalProperties: true,
};

/** Filters by properties: a list, each of which must hold, or a group. */
export const PROPERTY_FILTERS = { oneOf: [{ type: 'array', items: PROPERTY_FILTER }, FILTER_GROUP] };

/** What the numbers are broken down by. */
export const BREAKDOWN_FILTER = {
  type: 'object',
  properties: {
    breakdown: {
      description: 'The name of a property, or a list of them.',
      type: ['string', 'number', 'array', 'null'],
    },
    breakdown_type: NULLABLE_TEXT,
    breakdown_limit: { type: ['integer', 'null'] },
  },
  additionalProperties: true,
};

/** What a dashboard, or whoever asks, says beside queries. */
export const FILTERS_OVERRIDE = {
  type: 'object',
  properties: {
    date_from: { ...NULLABLE_TEXT, description: 'Such as -7d, or a date.' },
    date_to: NULLABLE_TEXT,
    explicitDate: { type: ['boolean', 'null'] },
    properties: { ...PROPERTY_FILTERS, description: 'They hold beside those of the queries.' },
    breakdown_filter: { ...BREAKDOWN_FILTER, description: "It takes the place of the queries' own." },
  },
  additionalProperties: true,
};
