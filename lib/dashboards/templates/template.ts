/** The shape of a template, and the text of what is wrong with a value of another shape. */

import * as z from 'zod';
import { beginningOf, inQuotes } from '../../basics/text.ts';

/** The error of a schema, in the words of PostHog's validator with the place of the fault: `..., at tiles.0.color`. */
const refused = (text: (value: string) => string) => ({
  error: ({ input, path = [] }: { readonly input?: unknown; readonly path?: PropertyKey[] | undefined }) =>
    input === undefined ? missing(path.at(-1), path.slice(0, -1)) : `${text(quoted(input))}${placed(path)}`,
});
const ofType = (...types: readonly string[]) => refused((value) => `${value} is not of type ${inQuotes(types)}`);
const tooLong = refused((value) => `${value} is too long`);
const missing = (name: PropertyKey | undefined, path: readonly PropertyKey[]): string =>
  `'${String(name)}' is a required property${placed(path)}`;
const placed = (path: readonly PropertyKey[]): string =>
  `, at ${path.length === 0 ? 'the template itself' : path.map(String).join('.')}`;

/** A value as a text shows it, at most 200 characters of it. */
function quoted(value: unknown): string {
  const text = typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
  return text.length > 200 ? `${beginningOf(text, 200)}...` : text;
}

/** A length counts code points. */
const atMost = (max: number) => [(value: string) => Array.from(value).length <= max, tooLong] as const;

const string = z.string(ofType('string'));
const shortText = z
  .string(ofType('string', 'null'))
  .refine(...atMost(400))
  .nullish();
const object = z.looseObject({}, ofType('object'));
const optionalObject = z.looseObject({}, ofType('object', 'null')).nullish();
const optionalString = z.string(ofType('string', 'null')).nullish();

const Variable = z.object(
  {
    id: string,
    name: string,
    type: string.refine(
      (value) => value === 'event',
      refused((value) => `${value} is not one of ['event']`),
    ),
    default: object,
    description: string,
    required: z.boolean(ofType('boolean')),
  },
  ofType('object'),
);

const Tile = z
  .object(
    {
      type: string,
      name: shortText,
      description: shortText,
      color: shortText,
      layouts: optionalObject,
      query: optionalObject,
      filters: optionalObject,
      body: string.refine(...atMost(4000)).optional(),
    },
    ofType('object'),
  )
  .refine(({ type, body }) => type !== 'TEXT' || body !== undefined, {
    error: ({ path = [] }) => missing('body', path),
  });

/** A template. What it does not name is passed over. */
const Template = z.object(
  {
    id: string.optional(),
    team_id: z.number(ofType('integer', 'null')).refine(Number.isInteger, ofType('integer', 'null')).nullish(),
    created_at: optionalString,
    image_url: optionalString,
    template_name: string.refine(...atMost(400)),
    dashboard_description: string,
    dashboard_filters: object,
    tags: z
      .array(
        string
          .min(
            1,
            refused((value) => `${value} must NOT have fewer than 1 characters`),
          )
          .refine(...atMost(255)),
        ofType('array', 'null'),
      )
      .nullish(),
    variables: z.array(Variable, ofType('array', 'null')).nullish(),
    tiles: z
      .array(Tile, ofType('array'))
      .min(
        1,
        refused((value) => `${value} should be non-empty`),
      )
      .max(500, tooLong),
  },
  ofType('object'),
);
export type Template = z.output<typeof Template>;

/** Returns the first fault of a JSON value that is no template; undefined when it is one. */
export const templateFault = (value: unknown): string | undefined =>
  Template.safeParse(value).error?.issues[0]?.message;
