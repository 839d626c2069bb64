/** Templates: JSON files beside this one, and those that callers send; both are checked by one JSON Schema. */
import type { ErrorObject } from 'ajv';
import { parsed } from '../../http/parsed.ts';
import { InsightInput } from '../../insights/model.ts';
import { invalid } from '../../ports/errors.ts';
import { DashboardInput, TileInput } from '../model.ts';
import type { NewTile } from '../tiles.ts';
import { isTemplate } from './check.ts';
import defaultApp from './default-app.json' with { type: 'json' };
import featureAdoption from './feature-adoption.json' with { type: 'json' };
import websiteTraffic from './website-traffic.json' with { type: 'json' };

/** A template, as its JSON Schema says. What it does not name is passed over. */
export interface Template {
  readonly template_name: string;
  readonly dashboard_description: string;
  readonly dashboard_filters: object;
  readonly tags?: readonly string[] | null;
  readonly tiles: readonly TemplateTile[];
}

interface TemplateTile {
  readonly type: string;
  readonly name?: string | null;
  readonly description?: string | null;
  readonly color?: string | null;
  readonly layouts?: object | null;
  readonly query?: object | null;
  readonly filters?: object | null;
  readonly body?: string;
}

/** The templates that come with the service, by the names that clients know, and by their own. */
const TEMPLATES: ReadonlyMap<string, unknown> = new Map(
  [
    { key: 'DEFAULT_APP', template: defaultApp },
    { key: 'WEBSITE_TRAFFIC', template: websiteTraffic },
    { key: 'FEATURE_ADOPTION', template: featureAdoption },
  ].flatMap(({ key, template }) => [[key, template] as const, [template.template_name, template] as const]),
);

/** Every name that `use_template` may have. */
export const templateNames: readonly string[] = [...TEMPLATES.keys()];

/** The template of this name; 400 when there is none. */
export function templateNamed(name: string): Template {
  const template = TEMPLATES.get(name);
  if (template === undefined) invalid('use_template', `Invalid template provided: ${name}`);
  return checkedTemplate(template);
}

/** The value, if it is a template; else 400 with the first fault and where it is. */
export function checkedTemplate(value: unknown): Template {
  // Numbers that JavaScript cannot hold are objects here; what is checked has plain ones.
  if (isTemplate(JSON.parse(JSON.stringify(value)))) {
    const { template_name: name, dashboard_description: description, tags } = value as Template;
    parsed(DashboardInput, { name, description, tags: tags ?? [] });
    return value as Template;
  }
  const [fault] = (isTemplate.errors ?? []).filter(({ keyword }) => keyword !== 'if');
  return invalid(null, fault === undefined ? 'Invalid template.' : faultText(fault));
}

/** The tiles that a template stands for; those of unknown types are passed over. */
export function tilesOfTemplate({ tiles }: Template, createdBy: string | null): NewTile[] {
  return tiles.flatMap(({ type, name, description, color = null, layouts, query, filters, body }): NewTile[] => {
    parsed(TileInput, { color });
    const place = { layouts: JSON.stringify(layouts ?? {}), color, created_by: createdBy };
    if (type === 'TEXT') {
      const { text } = parsed(TileInput, { text: { body } });
      return [{ ...place, insight: null, text: text?.body ?? '' }];
    }
    if (type !== 'INSIGHT') return [];
    const texts = parsed(InsightInput, { name: name ?? null, description: description ?? '' });
    const insight = {
      name: texts.name ?? null,
      description: texts.description ?? '',
      query: query === null || query === undefined ? null : JSON.stringify(query),
      filters: JSON.stringify(filters ?? {}),
      created_by: createdBy,
    };
    return [{ ...place, insight, text: null }];
  });
}

/** The fault in the words of the public product's validator, and its place: `..., at tiles.0.color`. */
function faultText({ keyword, params, data, instancePath, message }: ErrorObject): string {
  const path = instancePath
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');
  return `${explained(keyword, params, quoted(data), message)}, at ${path === '' ? 'the template itself' : path}`;
}

function explained(keyword: string, params: Record<string, unknown>, value: string, message = 'is not valid'): string {
  switch (keyword) {
    case 'required':
      return `'${String(params['missingProperty'])}' is a required property`;
    case 'type':
      return `${value} is not of type ${[params['type']]
        .flat()
        .map((type) => `'${String(type)}'`)
        .join(', ')}`;
    case 'enum':
      return `${value} is not one of [${(params['allowedValues'] as unknown[]).map(quoted).join(', ')}]`;
    case 'minItems':
      return `${value} should be non-empty`;
    case 'maxItems':
    case 'maxLength':
      return `${value} is too long`;
    default:
      return `${value} ${message}`;
  }
}

/** A value as a text shows it, at most 200 characters of it. */
function quoted(value: unknown): string {
  const text = typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200).toWellFormed()}...` : text;
}
