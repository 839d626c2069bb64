import { Alert, Group, NativeSelect, Text } from '@mantine/core';
import type { Preview, Reading } from '../../client/imports.ts';
import { Instant } from '../instant.tsx';
import { Listing } from '../listing.tsx';
import type { Shown } from './upload.ts';

const FORMATS = { combined: 'a log of a web server', jsonl: 'JSON lines', csv: 'CSV', parquet: 'Parquet' } as const;

/** How a file is read: its first records, or what is wrong with it. */
export function FirstRecords({ preview }: { readonly preview: Shown }) {
  const { format, records, problem } = preview;
  const lacking = lackingFields(preview);
  return (
    <>
      {format !== null && <Text size="sm">It is read as {FORMATS[format]}. Its first records:</Text>}
      {lacking.length > 0 && <Text size="sm">It is a table. Choose which {columnsText(lacking)}.</Text>}
      {problem !== null && lacking.length === 0 && (
        <Alert color="orange" variant="outline">
          {problem}
        </Alert>
      )}
      {records.length > 0 && (
        <Listing
          label="First records"
          rows={records}
          rowKey={({ line }) => line}
          empty={null}
          columns={[
            { name: 'Line', cell: ({ line }) => line },
            { name: 'Event', cell: ({ event, reason }) => <Cell text={event ?? reason ?? 'a state of a person'} /> },
            { name: 'Person', cell: (row) => <Cell text={row.distinct_id ?? ''} />, from: 'xs' },
            { name: 'Time', cell: ({ timestamp }) => <Instant at={timestamp} none="" /> },
            { name: 'Properties', cell: ({ properties }) => <Cell text={properties ?? ''} />, from: 'md' },
          ]}
        />
      )}
    </>
  );
}

const Cell = ({ text }: { readonly text: string }) => (
  <Text size="sm" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
    {text}
  </Text>
);

/** What an event cannot be without. */
const FIELDS = [
  ['event', 'Event', 'the event'],
  ['distinct_id', 'Person (distinct_id)', 'the person'],
  ['timestamp', 'Time', 'the time'],
] as const;

/** Returns what a table is not read without, in the words of a sentence, as long as no column is chosen for it. */
function lackingFields({ columns, problem, as: { columns: chosen } }: Shown): readonly string[] {
  if (columns === null || problem === null) return [];
  return FIELDS.flatMap(([field, , word]) => (field in (chosen ?? {}) || columns.includes(field) ? [] : [word]));
}

/**
 * Returns without what an import would add nothing, in a sentence; undefined: it would, as far as is known. Of a file whose
 * beginning holds no record and no problem, nothing is known yet.
 */
export function lackOf(preview: Shown): string | undefined {
  const { records, problem } = preview;
  const lacking = lackingFields(preview);
  if (lacking.length > 0) return `Choose which ${columnsText(lacking)} first`;
  return records.length === 0 && problem !== null ? 'Nothing of it can be read' : undefined;
}

const listed = new Intl.ListFormat('en-GB');

const columnsText = (words: readonly string[]): string =>
  `${words.length === 1 ? 'column is' : 'columns are'} ${listed.format(words)}`;

interface ColumnsProps {
  readonly columns: readonly string[];
  readonly format: Preview['format'];
  readonly reading: Reading;
  readonly change: (reading: Reading) => void;
}

/** Which column is which field; a column that is none is a property. */
export function Columns({ columns, format, reading, change }: ColumnsProps) {
  const chosen = (reading.columns ?? {}) as Readonly<Record<string, string>>;
  const choose = (field: string, column: string): void => {
    const { [field]: _, ...others } = chosen;
    const next = column === '' ? others : { ...others, [field]: column };
    change({ ...reading, format: format ?? 'csv', columns: next });
  };
  return (
    <Group align="end">
      {FIELDS.map(([field, label]) => (
        <NativeSelect
          key={field}
          label={label}
          value={chosen[field] ?? (columns.includes(field) ? field : '')}
          onChange={(event) => choose(field, event.currentTarget.value)}
          data={[{ value: '', label: 'Choose a column' }, ...columns]}
        />
      ))}
    </Group>
  );
}
