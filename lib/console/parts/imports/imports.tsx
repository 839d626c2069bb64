import { Group, Progress, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { counted } from '../../../basics/text.ts';
import { backfillRanges } from '../../../lake/intervals.ts';
import { answered, api } from '../../client/api.ts';
import { cancelImport, deleteImport, type Import, isOpen, rejectedOf, useImports } from '../../client/imports.ts';
import { asNumbered } from '../../client/paged.ts';
import { ActButton } from '../act-button.tsx';
import { ConfirmButton } from '../confirm-button.tsx';
import { Instant } from '../instant.tsx';
import { Label } from '../label.tsx';
import { Listing } from '../listing.tsx';
import { tellProblem } from '../problem.tsx';
import { useRenew } from '../renew.ts';
import { saveFile } from '../save-file.ts';
import { ScopedButton } from '../scoped-button.tsx';
import { TextButton } from '../text-button.tsx';

const STATES: Readonly<Record<Import['state'], readonly [name: string, color: string]>> = {
  uploading: ['Not started', 'gray'],
  queued: ['Waits', 'blue'],
  running: ['Running', 'blue'],
  completed: ['Completed', 'green'],
  failed: ['Failed', 'red'],
  cancelled: ['Cancelled', 'gray'],
};

const NOTHING_READ = ['Nothing read', 'orange'] as const;

/** Returns what became of an import, in a word and its color. */
function badgeOf({ state, problem, events, person_rows }: Import): readonly [name: string, color: string] {
  const isInVain = state === 'completed' && problem !== null && events === 0 && !person_rows;
  return isInVain ? NOTHING_READ : STATES[state];
}

interface ImportsProps {
  readonly project: string;
  /** Takes a file that was left before it was imported, or whose import has failed; absent: another one is there. */
  readonly goOn?: (one: Import) => void;
}

/** The imports of a project, how far they are, and what became of them. */
export function Imports({ project, goOn }: ImportsProps) {
  const renew = useRenew();
  const [page, setPage] = useState(1);
  const asked = useImports(project, page);
  const remove = async (one: Import): Promise<void> => {
    try {
      await deleteImport(project, one);
    } finally {
      await renew('imports');
    }
  };
  return (
    <Listing
      label="Imports"
      {...asNumbered(asked, page, setPage)}
      rowKey={({ id }) => id}
      empty={<Text>Nothing was imported here yet.</Text>}
      columns={[
        {
          name: 'File',
          cell: ({ name }) => (
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {name}
            </Text>
          ),
        },
        {
          name: 'State',
          cell: (one) => {
            const [name, color] = badgeOf(one);
            return <Label color={color}>{name}</Label>;
          },
        },
        { name: 'What became of it', cell: (one) => <Outcome project={project} one={one} /> },
        { name: 'Begun', cell: ({ created_at }) => <Instant at={created_at} />, from: 'md' },
        {
          name: 'Action',
          cell: (one) => (
            <Group gap="xs">
              {goOn !== undefined && (one.state === 'uploading' || one.state === 'failed') && (
                <ScopedButton scope="batch_import:write" variant="default" size="compact-xs" onClick={() => goOn(one)}>
                  Go on
                </ScopedButton>
              )}
              {isOpen(one) || one.state === 'failed' ? (
                <ActButton
                  scope="batch_import:write"
                  act={() => cancelImport(project, one)}
                  done="The import is cancelled; what it has added stays."
                  renews={['imports']}
                >
                  Cancel
                </ActButton>
              ) : (
                <ConfirmButton label="Delete" scope="batch_import:write" size="compact-xs" act={() => remove(one)}>
                  “{one.name}” leaves the list, with the copy of what was rejected. What it has added stays.
                </ConfirmButton>
              )}
            </Group>
          ),
        },
      ]}
    />
  );
}

function Outcome({ project, one }: { readonly project: string; readonly one: Import }) {
  const { state, bytes, bytes_read, events, added, known, rejected, rejections, problem, error } = one;
  return (
    <Stack gap={4} miw={140}>
      {state === 'running' && <Progress value={(bytes_read / bytes) * 100} aria-label="Progress" />}
      {state === 'running' && <Text size="xs">{counted(events, 'event')} read</Text>}
      {added !== null && (
        <Text size="sm">
          {counted(added, 'event')} added
          {known !== null && known > 0 && `, ${known.toLocaleString('en')} known already`}
        </Text>
      )}
      {rejected > 0 && <Text size="sm">{counted(rejected, 'record')} rejected</Text>}
      {rejections[0] !== undefined && (
        <Text size="xs">
          Line {rejections[0].line}: {rejections[0].reason}
        </Text>
      )}
      {[problem, error].map(
        (text) =>
          text !== null && (
            <Text key={text} size="sm">
              {text}
            </Text>
          ),
      )}
      <Group gap="xs">
        {one.rejected_bytes > 0 && <DownloadRejected project={project} one={one} />}
        <Backfills project={project} one={one} />
      </Group>
    </Stack>
  );
}

function DownloadRejected({ project, one }: { readonly project: string; readonly one: Import }) {
  const download = async (): Promise<void> => {
    saveFile(`rejected-${one.name.replace(/\.(gz|zst)$/, '')}`, await rejectedOf(project, one));
  };
  return <TextButton onClick={() => void download().catch(tellProblem)}>Download what was rejected</TextButton>;
}

/** What a schedule has passed is delivered by a backfill of its export, or by several where it lies far apart. */
function Backfills({ project, one }: { readonly project: string; readonly one: Import }) {
  // What has begun before something went wrong does not begin again.
  const [begun, setBegun] = useState<readonly string[]>([]);
  const byExport = Map.groupBy(one.backfills, ({ export: id }) => id);
  return [...byExport].map(([id, needed]) => {
    const name = needed[0]?.name ?? '';
    const params = { path: { project_id: project, id } };
    const backfills = backfillRanges(
      needed.map(({ start, end }) => ({ from: Date.parse(start), to: Date.parse(end) })),
    );
    const left = backfills.filter(({ from }) => !begun.includes(`${id} ${from}`));
    const begin = async (): Promise<void> => {
      for (const { from, to } of left) {
        const body = { start_at: new Date(from).toISOString(), end_at: new Date(to).toISOString() };
        await answered(api.POST('/api/projects/{project_id}/batch_exports/{id}/backfills/', { params, body }));
        setBegun((before) => [...before, `${id} ${from}`]);
      }
    };
    return (
      <ActButton
        key={id}
        scope="batch_export:write"
        disabled={left.length === 0}
        act={begin}
        done={backfills.length === 1 ? `The backfill of ${name} has begun.` : `The backfills of ${name} have begun.`}
        h="auto"
        maw="100%"
        styles={{ label: { whiteSpace: 'normal', overflowWrap: 'anywhere', textAlign: 'start' } }}
      >
        Deliver it to {name}
      </ActButton>
    );
  });
}
