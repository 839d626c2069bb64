/** Lists of numbered pages, and those that go on: their pages one after another, and the way to the next. */
import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { cursorOf } from './api.ts';
import { polled } from './polling.ts';

/** How many rows stand on a numbered page. */
export const PAGE_SIZE = 25;

/** Returns which rows a numbered page has, the first one being 1, of those like what is searched for. */
export const rowsOfPage = (page: number, search = '') => ({
  limit: PAGE_SIZE,
  offset: (page - 1) * PAGE_SIZE,
  ...(search === '' ? {} : { search }),
});

interface Page<Row> {
  readonly next: string | null;
  readonly results: readonly Row[];
}

/** What is known of what is asked for. */
export interface Asked<Found> {
  readonly data: Found | undefined;
  readonly error: unknown;
  readonly refetch: () => unknown;
}

/** Returns what a table takes of it. */
export const asListed = <T>({ data, error, refetch }: Asked<readonly T[]>) => ({
  rows: data,
  error,
  retry: () => void refetch(),
});

/** Returns what a table takes of a numbered page, and of what leads to another one. */
export const asNumbered = <T>(
  { data, error, refetch }: Asked<{ readonly count: number; readonly results: readonly T[] }>,
  at: number,
  go: (page: number) => void,
) => ({
  ...asListed({ data: data?.results, error, refetch }),
  pages: { count: data?.count ?? 0, at, go },
});

interface PagedOptions<Row, Place> {
  readonly key: readonly unknown[];
  /** Reads a page; the first one without a place. */
  readonly read: (place: Partial<Place>) => Promise<Page<Row>>;
  /** Whether to ask again, by what is there; default: never. Who reads on in older pages is not interrupted. */
  readonly isLive?: (rows: readonly Row[]) => boolean;
  /** Whether somebody waits for the first row. */
  readonly isAwaited?: boolean;
}

interface Cursor {
  readonly cursor: string;
}

interface LongOptions<Row, Place> extends PagedOptions<Row, Place> {
  /** Returns where the page after these begins; undefined: there is none. */
  readonly nextOf: (pages: readonly Page<Row>[]) => Place | undefined;
}

/** What is known of a list, as a table takes it. */
export interface Paged<Row> {
  /** Undefined: nothing is known yet. */
  readonly rows: readonly Row[] | undefined;
  readonly error: unknown;
  readonly retry: () => void;
  readonly more: { readonly hasMore: boolean; readonly isLoading: boolean; readonly load: () => void };
  /** Whether older pages are there too: then it asks for nothing new by itself. */
  readonly isReadOn: boolean;
  /** Begins with the newest page again. */
  readonly showNewest: () => void;
}

/** A list that goes on by a cursor. */
export const usePaged = <Row>(options: PagedOptions<Row, Cursor>): Paged<Row> =>
  useLong({
    ...options,
    nextOf: (pages) => {
      const cursor = cursorOf(pages.at(-1)?.next ?? null);
      return cursor === undefined ? undefined : { cursor };
    },
  });

/** A list that goes on. */
export function useLong<Row, Place extends object>({
  key,
  read,
  nextOf,
  isLive = () => false,
  isAwaited = false,
}: LongOptions<Row, Place>): Paged<Row> {
  const queries = useQueryClient();
  const query = useInfiniteQuery({
    queryKey: key,
    initialPageParam: {} as Partial<Place>,
    queryFn: ({ pageParam }) => read(pageParam as Partial<Place>),
    getNextPageParam: (_, pages) => nextOf(pages),
    refetchInterval: polled<{ pages: Page<Row>[] }>(
      ({ pages }) => pages.length === 1 && isLive(pages[0]?.results ?? []),
      ({ pages }) => isAwaited && pages[0]?.results.length === 0,
    ),
  });
  const rows = query.data?.pages.flatMap(({ results }) => results);
  return {
    ...asListed({ data: rows, error: query.error, refetch: query.refetch }),
    more: {
      hasMore: query.hasNextPage,
      isLoading: query.isFetchingNextPage,
      load: () => void query.fetchNextPage(),
    },
    isReadOn: (query.data?.pages.length ?? 0) > 1,
    showNewest: () => {
      queries.setQueryData<InfiniteData<Page<Row>>>(
        key,
        (known) => known && { pages: known.pages.slice(0, 1), pageParams: known.pageParams.slice(0, 1) },
      );
      void query.refetch();
    },
  };
}
