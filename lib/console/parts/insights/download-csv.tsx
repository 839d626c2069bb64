import { Stack } from '@mantine/core';
import { useMemo } from 'react';
import { chartOf } from '../../../charts/describe/describe.ts';
import type { Answered } from '../../../charts/describe/describer.ts';
import { useSubmission } from '../form.ts';
import { Problem } from '../problem.tsx';
import { saveFile } from '../save-file.ts';
import { TextButton } from '../text-button.tsx';

interface DownloadCsvProps {
  readonly query: unknown;
  readonly answer: Answered;
  /** The file's name, without its ending. */
  readonly name: string;
}

/** Gives an answer as a file for spreadsheets: all of its rows, and whole texts. Of nothing there is no file. */
export default function DownloadCsv({ query, answer, name }: DownloadCsvProps) {
  const { error, attempt } = useSubmission();
  const { table } = useMemo(() => chartOf(query, answer), [query, answer]);
  if (table.rows.length === 0) return null;
  const download = async (): Promise<void> => {
    const { csvOf } = await import('../../../charts/csv.ts');
    saveFile(`${name}.csv`, new Blob([csvOf(table)], { type: 'text/csv' }));
  };
  return (
    <Stack align="start" gap={0} mt="xs">
      <TextButton onClick={() => void attempt(download)}>Download CSV</TextButton>
      <Problem error={error} />
    </Stack>
  );
}
