import { Box, Button, Card, Center, Group, Pagination, Skeleton, Stack, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { PAGE_SIZE, type Paged } from '../client/paged.ts';
import { useKeptFocus } from './kept-focus.ts';
import { MayBeOld, Problem } from './problem.tsx';

interface Column<T> {
  readonly name: string;
  readonly cell: (row: T) => ReactNode;
  /** Not shown where there is no room. */
  readonly from?: 'xs' | 'sm' | 'md';
}

interface ListingProps<T> {
  /** What the rows are, for who cannot see the table. */
  readonly label: string;
  readonly rows: readonly T[] | undefined;
  readonly columns: readonly Column<T>[];
  readonly rowKey: (row: T) => string | number;
  readonly error?: unknown;
  readonly retry?: () => void;
  /** What to do next, where there is nothing. */
  readonly empty: ReactNode;
  /** A list of numbered pages. */
  readonly pages?: { readonly count: number; readonly at: number; readonly go: (page: number) => void };
  /** A list that goes on. */
  readonly more?: Paged<unknown>['more'];
  /** The way back to the newest rows, which come by themselves, of a list that has no *Follow*. */
  readonly newest?: Pick<Paged<unknown>, 'isReadOn' | 'showNewest'>;
}

const PLACEHOLDERS = ['a', 'b', 'c', 'd'];

/** A table of a list: its rows, what is said when there are none, and the way to the next. */
export function Listing<T>(props: ListingProps<T>) {
  const { label, rows, error, retry, newest } = props;
  const kept = useKeptFocus(rows);
  return (
    <Box {...kept} role="group" aria-label={label}>
      {rows !== undefined && <MayBeOld error={error} retry={retry} />}
      {newest?.isReadOn && (
        <Button variant="default" size="xs" mb="xs" onClick={newest.showNewest}>
          Show the newest
        </Button>
      )}
      <Rows {...props} />
    </Box>
  );
}

function Rows<T>({ label, rows, columns, rowKey, error, retry, empty, pages, more }: ListingProps<T>) {
  if (rows === undefined && error != null) return <Problem error={error} retry={retry} />;
  if (rows === undefined) {
    return (
      <Stack gap="xs" aria-busy aria-label={`Loading ${label}`} role="status">
        {PLACEHOLDERS.map((name) => (
          <Skeleton key={name} height={32} />
        ))}
      </Stack>
    );
  }
  if (rows.length === 0 && pages !== undefined && pages.count > 0) {
    return (
      <Empty>
        <Stack align="center" gap="sm">
          <Text>Nothing is on this page: the list has become shorter.</Text>
          <Button variant="default" onClick={() => pages.go(1)}>
            Show the first page
          </Button>
        </Stack>
      </Empty>
    );
  }
  if (rows.length === 0) return <Empty>{empty}</Empty>;
  const total = pages === undefined ? 1 : Math.ceil(pages.count / PAGE_SIZE);
  return (
    <Stack>
      <Card withBorder p={0}>
        <Table.ScrollContainer minWidth={0} scrollAreaProps={{ tabIndex: 0, offsetScrollbars: 'present' }}>
          <Table highlightOnHover verticalSpacing="xs" aria-label={label}>
            <Table.Thead>
              <Table.Tr>
                {columns.map(({ name, from }) => (
                  <Table.Th key={name} visibleFrom={from}>
                    {name}
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map((row) => (
                <Table.Tr key={rowKey(row)}>
                  {columns.map(({ name, cell, from }) => (
                    <Table.Td key={name} visibleFrom={from}>
                      {cell(row)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Card>
      {pages !== undefined && total > 1 && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            {pages.count} in all
          </Text>
          <Pagination
            total={total}
            value={pages.at}
            onChange={pages.go}
            getControlProps={(control) => ({ 'aria-label': `${control} page` })}
            getItemProps={(page) => ({ 'aria-label': `Page ${page}` })}
          />
        </Group>
      )}
      {more !== undefined && <ShowMore {...more} />}
    </Stack>
  );
}

/** The way to the next page of a list that goes on, if there is one. */
export function ShowMore({ hasMore, isLoading, load }: Paged<unknown>['more']) {
  if (!hasMore) return null;
  return (
    <Center>
      <Button variant="default" loading={isLoading} onClick={load}>
        Show more
      </Button>
    </Center>
  );
}

/** What is said where there is nothing yet. */
export function Empty({ children }: { readonly children: ReactNode }) {
  return (
    <Card withBorder>
      <Box ta="center" py="lg">
        {children}
      </Box>
    </Card>
  );
}
