import { Alert, Button, Card, FileButton, Group, NativeSelect, Progress, Stack, Text } from '@mantine/core';
import { type DragEvent, useEffect, useRef, useState } from 'react';
import { refusedHere } from '../../client/api.ts';
import {
  cancelImport,
  createImport,
  type Import,
  importOfRest,
  isOpen,
  type Preview,
  previewImport,
  type Reading,
  sendFile,
  startImport,
} from '../../client/imports.ts';
import { useSubmission } from '../form.ts';
import { Heading } from '../heading.tsx';
import { Instant } from '../instant.tsx';
import { Listing } from '../listing.tsx';
import { Problem, tell } from '../problem.tsx';
import { useRenew } from '../renew.ts';
import { ScopedButton } from '../scoped-button.tsx';
import { Imports } from './imports.tsx';

/** A file of which something is there. */
interface Chosen {
  readonly one: Import;
  readonly uploaded: number;
  /** It is on its way. */
  readonly isSending: boolean;
}

/** The first records of a file, as it was asked to be read. */
interface Shown extends Preview {
  /** The fields for which somebody has to choose a column, in the words of a sentence. */
  readonly lacking: readonly string[];
}

/** Takes a file, or one that was left before it was imported, shows how it is read, and imports it. Below it are all imports. */
export function ImportDesk({ project }: { readonly project: string }) {
  const renew = useRenew();
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [preview, setPreview] = useState<Shown | null>(null);
  const [reading, setReading] = useState<Reading>({});
  /** How the file is to be read by what was chosen last: an upload that ends meets what was chosen while it went on. */
  const lastReading = useRef<Reading>({});
  /** How often was asked how a file is read. Only the last answer is shown, in whatever order they come. */
  const looks = useRef(0);
  const { isBusy, error, attempt: submit } = useSubmission();
  const upload = useRef<AbortController | null>(null);
  // Whoever leaves the page takes the file along.
  useEffect(() => () => upload.current?.abort(), []);

  const choose = (next: Reading): void => {
    lastReading.current = next;
    setReading(next);
  };
  const reset = (): void => {
    upload.current?.abort();
    looks.current += 1;
    setChosen(null);
    setPreview(null);
    choose({});
  };

  /** Shows how a file is read, unless that was asked again meanwhile, or the file is no longer there. */
  async function look(one: Import): Promise<void> {
    looks.current += 1;
    const own = looks.current;
    const as = lastReading.current;
    try {
      const found = await previewImport(project, one, as);
      if (own === looks.current) setPreview({ ...found, lacking: lackingFields(found, as) });
    } catch (problem) {
      if (own === looks.current) throw problem;
    }
  }

  const attempt = async (act: () => Promise<unknown>): Promise<void> => {
    await submit(act);
    void renew('imports');
  };

  /** Uploads, in the place of what is uploaded. */
  const sends = (send: (signal: AbortSignal) => Promise<unknown>): void => {
    upload.current?.abort();
    const stop = new AbortController();
    const { signal } = stop;
    upload.current = stop;
    void attempt(() =>
      send(signal).catch((problem: unknown) => {
        if (signal.aborted) return;
        setChosen((now) => now && { ...now, isSending: false });
        throw problem;
      }),
    );
  };

  const take = (file: File | null): void => {
    if (file === null) return;
    sends(async (signal) => {
      const one = await createImport(project, file);
      // Another file has taken the place of one that had not begun.
      await (signal.aborted ? cancelImport(project, one) : send(one, file, signal));
    });
  };

  const takeRest = (begun: Import, file: File | null): void => {
    if (file === null) return;
    sends(async (signal) => send(await importOfRest(project, begun, file), file, signal));
  };

  async function send(one: Import, file: File, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    setChosen({ one, uploaded: one.bytes_uploaded, isSending: true });
    let isShown = false;
    await sendFile(project, one, file, {
      signal,
      onPart: (uploaded) => {
        if (signal.aborted) return;
        setChosen({ one, uploaded, isSending: true });
        if (!isShown) void submit(() => look(one));
        isShown = true;
      },
    });
    // Parquet is read from its end.
    if (!signal.aborted) await look(one);
  }

  const read = (one: Import, next: Reading): void => {
    choose(next);
    void attempt(() => look(one));
  };

  const goOn = (one: Import): void => {
    setChosen({ one, uploaded: one.bytes_uploaded, isSending: false });
    void attempt(async () => one.bytes_uploaded > 0 && look(one));
  };

  if (chosen === null) {
    return (
      <Stack>
        <Stack gap={0}>
          <DropPlace take={take} refuse={(why) => void submit(() => Promise.reject(refusedHere(why)))} />
          <Problem error={error} />
        </Stack>
        <Imports project={project} goOn={goOn} />
      </Stack>
    );
  }
  const { one, uploaded, isSending } = chosen;
  const isWhole = uploaded === one.bytes;
  const start = (): void =>
    void attempt(async () => {
      await startImport(project, one, reading);
      tell(`The import of ${one.name} has begun.`);
      reset();
    });
  const cancel = (): void =>
    void attempt(async () => {
      upload.current?.abort();
      if (isOpen(one)) await cancelImport(project, one);
      reset();
    });
  return (
    <Stack>
      <Card withBorder component="section" aria-label={`Import ${one.name}`}>
        <Stack>
          <Heading style={{ overflowWrap: 'anywhere' }}>{one.name}</Heading>
          {!isWhole && (
            <div>
              <Progress value={(uploaded / one.bytes) * 100} aria-label="Upload" />
              <Text size="sm">
                {sizeText(uploaded)} of {sizeText(one.bytes)} uploaded.{' '}
                {isSending ? 'Keep this page open.' : 'Choose the file again to go on.'}
              </Text>
            </div>
          )}
          {preview !== null && <FirstRecords preview={preview} />}
          {preview?.columns != null && (
            <Columns
              columns={preview.columns}
              reading={reading}
              change={(next) => read(one, next)}
              format={preview.format}
            />
          )}
          <Problem error={error} />
          <Group>
            {!isWhole && !isSending && (
              <ChooseFile label="Choose the file again" take={(file) => takeRest(one, file)} />
            )}
            <ScopedButton
              scope="batch_import:write"
              lacks={preview === null ? undefined : lackOf(preview)}
              loading={isBusy && isWhole}
              disabled={!isWhole}
              onClick={start}
            >
              Import
            </ScopedButton>
            <Button variant="default" onClick={cancel}>
              Cancel
            </Button>
          </Group>
        </Stack>
      </Card>
      <Imports project={project} />
    </Stack>
  );
}

interface ChooseFileProps {
  readonly label: string;
  readonly take: (file: File | null) => void;
}

/** Asks for a file. */
function ChooseFile({ label, take }: ChooseFileProps) {
  /** Lets the same file be chosen again. */
  const forget = useRef<() => void>(null);
  return (
    <FileButton
      resetRef={forget}
      onChange={(file) => {
        take(file);
        forget.current?.();
      }}
    >
      {({ onClick }) => (
        <ScopedButton scope="batch_import:write" onClick={onClick}>
          {label}
        </ScopedButton>
      )}
    </FileButton>
  );
}

/** Returns why what is dropped is not taken; undefined: it is a file, or nothing. */
function faultOf({ files, items }: DataTransfer): string | undefined {
  const others = '`npx workspace imports send` takes folders and several files.';
  if (files.length > 1) return `None of the ${files.length} files is taken: drop one at a time. ${others}`;
  const folder = Array.from(items, (item) => item.webkitGetAsEntry()).find((entry) => entry?.isDirectory);
  return folder == null ? undefined : `${folder.name} is a folder. ${others}`;
}

interface DropPlaceProps extends Pick<ChooseFileProps, 'take'> {
  /** Says why nothing is taken. */
  readonly refuse: (why: string) => void;
}

/** Where a file is dropped, or chosen. */
function DropPlace({ take, refuse }: DropPlaceProps) {
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent): void => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    const fault = faultOf(event.dataTransfer);
    if (fault === undefined) take(event.dataTransfer.files[0] ?? null);
    else refuse(fault);
  };
  return (
    <Card
      withBorder
      component="section"
      aria-label="Drop a file"
      p="xl"
      style={{ borderStyle: 'dashed', ...(isOver ? { borderColor: 'var(--mantine-primary-color-filled)' } : {}) }}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Stack align="center" gap="xs">
        <Text>Drop a file here, or</Text>
        <ChooseFile label="Choose a file" take={take} />
      </Stack>
    </Card>
  );
}

const FORMATS = { combined: 'a log of a web server', jsonl: 'JSON lines', csv: 'CSV', parquet: 'Parquet' } as const;

function FirstRecords({ preview: { format, records, problem, lacking } }: { readonly preview: Shown }) {
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
function lackingFields({ columns, problem }: Preview, { columns: chosen }: Reading): readonly string[] {
  if (columns === null || problem === null) return [];
  return FIELDS.flatMap(([field, , word]) => (field in (chosen ?? {}) || columns.includes(field) ? [] : [word]));
}

/**
 * Returns without what an import would add nothing, in a sentence; undefined: it would, as far as is known. Of a file whose
 * beginning holds no record and no problem, nothing is known yet.
 */
function lackOf({ records, problem, lacking }: Shown): string | undefined {
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
function Columns({ columns, format, reading, change }: ColumnsProps) {
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

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Returns a number of bytes as people say it: `52.7 MB`. */
function sizeText(bytes: number): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1);
  return `${(bytes / 1000 ** power).toLocaleString('en', { maximumFractionDigits: 1 })} ${UNITS[power] ?? 'B'}`;
}
