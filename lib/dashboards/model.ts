import * as z from 'zod';
import type { UserLookup } from '../accounts/users/lookup.ts';
import { User } from '../accounts/users/model.ts';
import { boolean, choice, freeObject, integer, nullableBoolean, oneOf, text, uuid } from '../http/fields.ts';
import { wireInstant } from '../http/instant.ts';
import { parseJson } from '../http/json.ts';
import { tagList } from '../http/tags.ts';
import { FILTERS_OVERRIDE } from '../insights/filter-schema.ts';
import { type InsightItem, insightObject, TileInsight } from '../insights/model.ts';
import type { ResultFields } from '../insights/results.ts';
import { fromJsonText, type JsonText } from '../ports/table/json-text.ts';
import type { Item } from '../ports/table/table.ts';
import { ACCESS_LEVELS, type AccessRuleItem } from './access-controls/model.ts';
import { type CollaboratorItem, PRIVILEGE } from './collaborators/model.ts';
import type { SharingItem } from './sharing/model.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    dashboard: DashboardItem;
    dashboardDetail: DashboardDetailItem;
    tile: TileItem;
  }
}

/** Who may edit: 21 everyone in the project, 37 only collaborators. */
export const RESTRICTION = { everyone: 21, collaborators: 37 } as const;
export type RestrictionLevel = (typeof RESTRICTION)[keyof typeof RESTRICTION];

const CREATION_MODES = ['default', 'template', 'duplicate'] as const;
type CreationMode = (typeof CREATION_MODES)[number];

/** A dashboard has at most so many tiles. */
export const MAX_TILES = 500;

/**
 * The summary of a dashboard: what a list shows, and all that decides who may see and change it. So beside the fields
 * named here it holds one field for each collaborator (`collaboratorField`) and for each access rule (`ruleField`):
 * a list needs no other item, and changes of two of them at once both last.
 */
export interface DashboardItem extends Item {
  readonly id: number;
  readonly project_id: number;
  readonly name: string;
  readonly description: string;
  readonly pinned: boolean;
  readonly created_at: number;
  /** The creator's uuid. */
  readonly created_by: string;
  /** The same as `enabled` of its sharing, with which it changes in one transaction. */
  readonly is_shared: boolean;
  /** When it is set, the dashboard is gone from lists and reads, with its tiles, until it is brought back. */
  readonly deleted_at: number | null;
  readonly creation_mode: CreationMode;
  readonly tags: JsonText<string[]>;
  readonly restriction_level: RestrictionLevel;
  /** Counts the tiles, and changes in their transactions. Those of a change that takes several are counted in its first. */
  readonly tiles: number;
  /** When a change of tiles that takes several transactions was last at one; absent: none ever was. */
  readonly tiles_coming_at?: number;
  /** How often the tiles were counted anew, which takes the room of whoever was still writing some. */
  readonly recounts?: number;
  /** Counts changes of the writable state (ETag): fields, tiles, filters and variables. */
  readonly ver: number;
}

/** The detail of a dashboard: what a list does not show. */
export interface DashboardDetailItem extends Item {
  /** The name of the template that it was made from, else "". */
  readonly use_template: string;
  /** The dashboard that it was made from. */
  readonly use_dashboard: number | null;
  readonly delete_insights: boolean;
  /** JSON of an object. */
  readonly filters: string;
  /** JSON of an object. */
  readonly variables: string;
}

/** A tile: of an insight, or of text; the other is null. */
export interface TileItem extends Item {
  readonly id: number;
  /** The insight's number. */
  readonly insight: number | null;
  readonly text: string | null;
  /** JSON of an object by breakpoint. */
  readonly layouts: string;
  readonly color: string | null;
  /** Whether the description of its insight is shown; absent and null: nobody has said. */
  readonly show_description?: boolean | null;
  readonly created_at: number;
  /** Null: made from a template's JSON. */
  readonly created_by: string | null;
  readonly last_modified_at: number;
  readonly last_modified_by: string | null;
  /** Counts changes, so that a move takes the tile as it is. */
  readonly ver: number;
}

/** A dashboard as it is stored, with all that belongs to it. */
export interface StoredDashboard {
  readonly summary: DashboardItem;
  readonly detail: DashboardDetailItem;
  /** In the order of their numbers. */
  readonly tiles: readonly TileItem[];
  readonly sharing: SharingItem;
  readonly collaborators: readonly CollaboratorItem[];
  readonly rules: readonly AccessRuleItem[];
}

/** A dashboard, and the insights that its tiles show, by their numbers. */
export interface DashboardWithInsights {
  readonly stored: StoredDashboard;
  readonly insights: ReadonlyMap<number, InsightItem>;
}

const name = text({ max: 400, blank: true }).nullable().optional();
const restriction = choice(Object.values(RESTRICTION))
  .optional()
  .describe('21: all members may edit; 37: collaborators.');
const free = z.unknown().optional().meta({ type: 'object', additionalProperties: true });

/** A tile as callers send it: without `id` a new one, of text or of an insight; with `id` a change of that one. */
export const TileInput = z.object({
  id: integer().optional(),
  text: z
    .object({ body: text({ blank: true, trim: false }).optional() })
    .nullable()
    .optional()
    .describe('Markdown, at most 4,000 characters.'),
  insight: z.unknown().optional().describe('Of a new tile: the number of the insight, or an object with its `id`.'),
  layouts: freeObject().nullable().optional(),
  color: text({ max: 400, blank: true }).nullable().optional(),
  show_description: nullableBoolean().optional().describe("Whether the insight's description is shown."),
  deleted: boolean().optional().describe('True takes the tile away.'),
});
export type SentTile = z.output<typeof TileInput>;

/** A tile in the body of a dashboard, to be copied. */
const TileCopyInput = z.object({ id: integer(), layouts: freeObject().nullable().optional() });
export type SentCopy = z.output<typeof TileCopyInput>;

const writable = {
  name,
  description: text({ blank: true }).optional(),
  pinned: boolean().optional(),
  deleted: boolean().optional().describe('True deletes softly, false brings back.'),
  use_template: text({ blank: true }).optional().describe("A template's name; on create only."),
  use_dashboard: integer()
    .nullable()
    .optional()
    .describe('A dashboard of the project to copy tiles from; on create only.'),
  delete_insights: boolean().optional().describe('With `deleted`: also insights that no other dashboard shows.'),
  tags: tagList().optional(),
  restriction_level: restriction,
  filters: free
    .meta(FILTERS_OVERRIDE)
    .describe(
      'What holds for all of its insights, kept as it is sent. `{}` and null change nothing, as with PostHog: ' +
        '`{"date_from": null}` takes the place of all that was kept.',
    ),
  variables: free.describe('Kept as they are sent. `{}` and null change nothing, as with PostHog.'),
  tiles: z.array(TileInput).max(MAX_TILES).optional(),
};

/** The body that makes a dashboard. */
export const DashboardInput = z.object({
  ...writable,
  duplicate_tiles: boolean().optional().describe('With `use_dashboard`: copies of the insights too.'),
});

/** The body that changes a dashboard. */
export const DashboardPatch = z.object({
  ...writable,
  duplicate_tiles: z
    .array(TileCopyInput)
    .max(MAX_TILES)
    .optional()
    .describe(
      'Tiles of the dashboard that get a copy, with a copy of the insight; at `layouts`, else without a place.',
    ),
});
export type DashboardChanges = z.output<typeof DashboardPatch>;

/** The body that moves a tile to another dashboard of the project. */
export const TileMove = z
  .object({
    tile: z.object({ id: integer() }),
    toDashboard: integer().optional(),
    to_dashboard: integer().optional(),
  })
  .meta(oneOf('toDashboard', 'to_dashboard'));

/** The body that makes a dashboard from a template of the caller's own. */
export const TemplateInput = z.object({
  template: freeObject().describe('The name, the description, the filters and the tiles of the dashboard.'),
  creation_context: text({ blank: true }).nullable().optional(),
});

const ORDERINGS = ['name', '-name', 'created_at', '-created_at', 'pinned', '-pinned'] as const;

/** The query of a list. */
export const DashboardQuery = z.object({
  search: text({ blank: true }).optional().describe('Part of the name or the description.'),
  tags: z
    .array(text({ blank: true }))
    .optional()
    .describe('May be repeated: those with any of them.'),
  creation_mode: choice(CREATION_MODES).optional(),
  pinned: boolean().optional(),
  created_by: uuid().optional().describe("The creator's uuid."),
  deleted: boolean().optional().describe('True: those that were deleted and can be brought back, the last one first.'),
  ordering: choice(ORDERINGS).optional().describe('Default: pinned first, then by name.'),
});
export type DashboardFilter = z.output<typeof DashboardQuery>;

const tags = z.array(z.string());
const listed = {
  id: z.int(),
  name: z.string(),
  description: z.string(),
  pinned: z.boolean(),
  created_at: z.iso.datetime(),
  created_by: User.nullable().describe('Null when the account is gone.'),
  is_shared: z.boolean(),
  deleted: z.boolean(),
  creation_mode: z.enum(CREATION_MODES),
};
const levels = z.object({
  restriction_level: z.literal(Object.values(RESTRICTION)).describe('21: all members may edit; 37: collaborators.'),
  effective_restriction_level: z.literal(Object.values(RESTRICTION)),
  effective_privilege_level: z.literal(Object.values(PRIVILEGE)).describe('What the caller may: 21 view, 37 edit.'),
  user_access_level: z.enum(ACCESS_LEVELS).describe("The caller's level."),
});
/** What somebody may do with a dashboard, as answers show it. */
export type Rights = Readonly<z.output<typeof levels>>;

/** A dashboard in a list. */
export const Dashboard = z.object({ ...listed, tags, ...levels.shape }).meta({ id: 'Dashboard' });

const TileText = z.object({
  id: z.int(),
  body: z.string(),
  created_by: User.nullable(),
  last_modified_at: z.iso.datetime(),
  last_modified_by: User.nullable(),
  team: z.int(),
});

/** A tile; one of `insight` and `text` is null. */
const Tile = z
  .object({
    id: z.int(),
    order: z.int().describe('Its place among the tiles that are shown, from 0.'),
    layouts: freeObject(),
    color: z.string().nullable(),
    show_description: z.boolean().nullable(),
    insight: TileInsight.nullable(),
    text: TileText.nullable(),
    last_refresh: z.iso.datetime().nullable(),
    is_cached: z.boolean(),
  })
  .meta({ id: 'Tile' });

/** A dashboard by itself. */
export const DashboardDetail = z
  .object({
    ...listed,
    use_template: z.string().describe('The template that it was made from, or "".'),
    use_dashboard: z.int().nullable().describe('The dashboard that it was made from.'),
    delete_insights: z.boolean(),
    filters: freeObject().meta(FILTERS_OVERRIDE),
    variables: freeObject(),
    tags,
    tiles: z.array(Tile),
    ...levels.shape,
  })
  .meta({ id: 'DashboardDetail' });

/** Returns what a dashboard is called where something has to be said. */
export const dashboardName = ({ name }: Pick<DashboardItem, 'name'>): string => name || 'Untitled dashboard';

/** Returns the public object of a summary, as lists show it. */
export function dashboardObject(summary: DashboardItem, rights: Rights, userOf: UserLookup): z.input<typeof Dashboard> {
  return {
    id: summary.id,
    name: summary.name,
    description: summary.description,
    pinned: summary.pinned,
    created_at: wireInstant(summary.created_at),
    created_by: userOf(summary.created_by),
    is_shared: summary.is_shared,
    deleted: summary.deleted_at !== null,
    creation_mode: summary.creation_mode,
    tags: fromJsonText(summary.tags),
    ...rights,
  };
}

/**
 * Returns the public object of a dashboard with its tiles (none when it is deleted, and none of deleted insights) and the
 * answers of their insights, which stand by their numbers.
 */
export function dashboardDetailObject(
  { stored: { summary, detail, tiles }, insights }: DashboardWithInsights,
  results: ReadonlyMap<number, ResultFields>,
  rights: Rights,
  userOf: UserLookup,
): z.input<typeof DashboardDetail> {
  const shown = inLayoutOrder(summary.deleted_at === null ? tiles : []).flatMap(({ tile, layouts }) => {
    const insight = tile.insight === null ? undefined : insights.get(tile.insight);
    return tile.insight === null || insight?.deleted_at === null ? [{ tile, layouts, insight }] : [];
  });
  return {
    ...dashboardObject(summary, rights, userOf),
    use_template: detail.use_template,
    use_dashboard: detail.use_dashboard,
    delete_insights: detail.delete_insights,
    filters: parseJson(detail.filters),
    variables: parseJson(detail.variables),
    tiles: shown.map(({ tile, layouts, insight }, order) => {
      const result = insight === undefined ? undefined : results.get(insight.id);
      return {
        id: tile.id,
        order,
        layouts,
        color: tile.color,
        show_description: tile.show_description ?? null,
        insight: insight === undefined ? null : { ...insightObject(insight, userOf), ...(result ?? { result: null }) },
        text: tile.text === null ? null : tileText(tile, tile.text, summary.project_id, userOf),
        last_refresh: result?.last_refresh ?? null,
        is_cached: result?.is_cached ?? false,
      };
    }),
  };
}

function tileText(tile: TileItem, body: string, team: number, userOf: UserLookup): z.input<typeof TileText> {
  return {
    id: tile.id,
    body,
    created_by: userOf(tile.created_by),
    last_modified_at: wireInstant(tile.last_modified_at),
    last_modified_by: userOf(tile.last_modified_by),
    team,
  };
}

/** The row and column of a tile without a layout, which comes after all that have one. */
const UNPLACED = 100;

const positionOf = (value: unknown): number => (typeof value === 'number' ? value : UNPLACED);

/** Returns tiles by row and column of the layout for small screens, then in the order in which they were made. */
export function inLayoutOrder(tiles: readonly TileItem[]): { tile: TileItem; layouts: object }[] {
  return tiles
    .map((tile) => {
      const layouts = parseJson(tile.layouts) as { sm?: { x?: unknown; y?: unknown } | null };
      return { tile, layouts, x: positionOf(layouts.sm?.x), y: positionOf(layouts.sm?.y) };
    })
    .toSorted((a, b) => a.y - b.y || a.x - b.x || a.tile.id - b.tile.id);
}
