/** The public page of a dashboard: who may see it, and what its readers may choose. */
import { type At, answered, api, ifMatch, type Schemas, type Versioned, versioned } from './api.ts';
import { covers, object, text } from './json.ts';
import { instantOf, zonedOf } from './local-time.ts';
import { type Filter, sentFilters, wholeFiltersIn } from './property-filters.ts';

export type Sharing = Schemas['DashboardSharing'];
type SharingChange = Schemas['SharingUpdateRequest'];

export const sharingAt = (project: string, id: number): At<Sharing> => ({
  queryKey: ['sharing', project, id],
  queryFn: () =>
    versioned(
      api.GET('/api/projects/{project_id}/dashboards/{id}/sharing/', { params: { path: { project_id: project, id } } }),
    ),
});

/** Writes a change of the version that was seen. Throws a `Refusal` of status 412 when somebody else was faster. */
export const writeSharing = (
  project: string,
  id: number,
  seen: Versioned<Sharing>,
  change: SharingChange,
): Promise<Versioned<Sharing>> =>
  versioned(
    api.PATCH('/api/projects/{project_id}/dashboards/{id}/sharing/', {
      params: { path: { project_id: project, id }, header: ifMatch(seen) },
      body: change,
    }),
  );

/** Makes another link; the one of now stops working. */
export const renewLink = (project: string, id: number): Promise<unknown> =>
  answered(
    api.POST('/api/projects/{project_id}/dashboards/{id}/sharing/refresh/', {
      params: { path: { project_id: project, id } },
    }),
  );

type SentChoice = Sharing['filter_choices'][number];

/** A choice of readers as a form has it. */
export interface Choice {
  /** Its place among those that were ever in the form. */
  readonly key: number;
  readonly name: string;
  readonly filters: readonly Filter[];
  /** A property of events; empty: the insights keep their breakdowns. */
  readonly breakdown: string;
  /** What is kept, where a form cannot say all of it; undefined: the form says it. */
  readonly kept?: SentChoice;
}

/** What a form says of a public page. */
export interface SharingValues {
  /** Empty: as it is. */
  readonly password: string;
  /** The password that is kept is taken away. */
  readonly isOpen: boolean;
  /** By the clock of the reader; empty: the page does not end. */
  readonly expires_at: string;
  readonly allow_date_range: boolean;
  readonly filter_choices: readonly Choice[];
}

const sentBreakdown = (breakdown: string) => (breakdown === '' ? {} : { breakdown_filter: { breakdown } });

function choiceOf(kept: SentChoice, key: number): Choice {
  const { name, properties, breakdown_filter } = kept;
  const filters = wholeFiltersIn(properties);
  const breakdown = text(object(breakdown_filter)['breakdown'], '');
  const isWhole = covers(object(sentBreakdown(breakdown).breakdown_filter), object(breakdown_filter));
  return { key, name, filters: filters ?? [], breakdown, ...(filters !== undefined && isWhole ? {} : { kept }) };
}

const sentChoice = ({ name, filters, breakdown, kept }: Choice): SentChoice =>
  kept === undefined
    ? { name, ...(filters.length === 0 ? {} : { properties: sentFilters(filters) }), ...sentBreakdown(breakdown) }
    : { ...kept, name };

/** Returns what the form begins with. */
export const sharingValues = ({ expires_at, allow_date_range, filter_choices }: Sharing): SharingValues => ({
  password: '',
  isOpen: false,
  expires_at: expires_at === null ? '' : zonedOf(expires_at),
  allow_date_range,
  filter_choices: filter_choices.map(choiceOf),
});

/** Returns what is sent of what a form says otherwise than before. */
export function sentSharing(change: Partial<SharingValues>): SharingChange {
  const { password = '', isOpen, expires_at, allow_date_range, filter_choices } = change;
  return {
    ...(password === '' ? {} : { password }),
    ...(isOpen === true ? { password_required: false } : {}),
    ...(expires_at === undefined ? {} : { expires_at: expires_at === '' ? null : instantOf(expires_at) }),
    allow_date_range,
    filter_choices: filter_choices?.map(sentChoice),
  };
}
