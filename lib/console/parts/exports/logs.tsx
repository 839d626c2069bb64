import { Box, Button, Card, Group, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Schemas } from '../../client/api.ts';
import { useLogs } from '../../client/exports.ts';
import { useView } from '../address.ts';
import { Follow } from '../follow.tsx';
import { localTime, utcTime } from '../instant.tsx';
import { Empty, ShowMore } from '../listing.tsx';
import { Problem } from '../problem.tsx';
import { useSettled } from '../typing.ts';
import { ViewChoice } from '../view-choice.tsx';

type Level = Schemas['BatchExportLogEntry']['level'];

interface LogsProps {
  readonly project: string;
  readonly id: string;
  /** Only the lines of this run. */
  readonly run: string | undefined;
}

const LEVELS: readonly Level[] = ['DEBUG', 'INFO', 'WARNING', 'ERROR'];

/** What the runs said, newest first. New lines come by themselves, until somebody reads on in older ones. */
export function Logs({ project, id, run }: LogsProps) {
  const [view, setView] = useView();
  const [search, setSearch] = useState('');
  const settled = useSettled(search);
  const [follow, setFollow] = useState(true);
  const level = LEVELS.find((one) => one === view['level']);
  const lines = useLogs(project, id, run, { level, search: settled, follow });
  const { rows, error, retry, more } = lines;
  return (
    <Stack>
      <Group align="end">
        <ViewChoice name="level" label="Level" data={LEVELS} value={level} placeholder="all" all="All levels" />
        <TextInput label="Search" value={search} onChange={(event) => setSearch(event.currentTarget.value)} />
        <Follow list={lines} isWanted={follow} want={setFollow} />
        {run !== undefined && (
          <Button variant="default" onClick={() => setView({ run: undefined })}>
            Show all runs
          </Button>
        )}
      </Group>
      {rows === undefined && <Problem error={error} retry={retry} />}
      {rows?.length === 0 && (
        <Empty>
          <Text>No lines. A run writes what it does here.</Text>
        </Empty>
      )}
      {rows !== undefined && rows.length > 0 && (
        <Card withBorder p="xs">
          <Box role="log" aria-label="Log" tabIndex={0} mah={480} style={{ overflow: 'auto' }} ff="monospace" fz="xs">
            {rows.map(({ timestamp, level: of, message, instance_id }) => (
              <Group key={`${timestamp} ${instance_id} ${message}`} gap="sm" style={{ rowGap: 0 }} align="start" py={2}>
                <Text
                  span
                  ff="monospace"
                  fz="xs"
                  c="dimmed"
                  style={{ whiteSpace: 'nowrap' }}
                  title={localTime(timestamp)}
                >
                  {utcTime(timestamp)}
                </Text>
                <Text span ff="monospace" fz="xs" w={64} flex="none" fw={of === 'ERROR' ? 700 : 400}>
                  {of}
                </Text>
                <Text span ff="monospace" fz="xs" flex="1 1 14rem" style={{ overflowWrap: 'anywhere' }}>
                  {message}
                </Text>
              </Group>
            ))}
          </Box>
        </Card>
      )}
      <ShowMore {...more} />
    </Stack>
  );
}
