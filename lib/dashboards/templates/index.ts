/** Templates: JSON files beside this one, and those that callers send; both are checked by one schema. */
import { parse } from '../../http/parse.ts';
import { InsightInput } from '../../insights/model.ts';
import { invalid } from '../../ports/errors.ts';
import { DashboardInput, TileInput } from '../model.ts';
import type { NewTile } from '../tiles.ts';
import defaultApp from './default-app.json' with { type: 'json' };
import featureAdoption from './feature-adoption.json' with { type: 'json' };
import { type Template, templateFault } from './template.ts';
import websiteTraffic from './website-traffic.json' with { type: 'json' };

/** The templates that come with the service, by the names that clients know, and by their own. */
export const TEMPLATES: ReadonlyMap<string, unknown> = new Map(
  [
    { key: 'DEFAULT_APP', template: defaultApp },
    { key: 'WEBSITE_TRAFFIC', template: websiteTraffic },
    { key: 'FEATURE_ADOPTION', template: featureAdoption },
  ].flatMap(({ key, template }) => [[key, template] as const, [template.template_name, template] as const]),
);

/** Returns the template of this name. Throws a 400 when there is none. */
export function templateNamed(name: string): Template {
  const template = TEMPLATES.get(name);
  if (template === undefined) {
    invalid('use_template', `Invalid template provided: ${name}. Choose one of: ${[...TEMPLATES.keys()].join(', ')}.`);
  }
  return checkedTemplate(template);
}

/** Returns the value, if it is a template. Throws a 400 with the first fault, and where it is. */
export function checkedTemplate(value: unknown): Template {
  // Numbers that JavaScript cannot hold are objects here; what is checked has plain ones.
  const fault = templateFault(JSON.parse(JSON.stringify(value)));
  if (fault !== undefined) invalid(null, fault);
  const template = value as Template;
  const { template_name: name, dashboard_description: description, tags } = template;
  parse(DashboardInput, { name, description, tags: tags ?? [] });
  return template;
}

/** Returns the tiles that a template stands for; those of unknown types are passed over. */
export function tilesOfTemplate({ tiles }: Template, createdBy: string | null): NewTile[] {
  return tiles.flatMap(({ type, name, description, color = null, layouts, query, filters, body }): NewTile[] => {
    parse(TileInput, { color });
    const place = { layouts: JSON.stringify(layouts ?? {}), color, created_by: createdBy };
    if (type === 'TEXT') {
      const { text } = parse(TileInput, { text: { body } });
      return [{ ...place, insight: null, text: text?.body ?? '' }];
    }
    if (type !== 'INSIGHT') return [];
    const texts = parse(InsightInput, { name: name ?? null, description: description ?? '' });
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
