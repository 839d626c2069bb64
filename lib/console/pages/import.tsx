import { Stack, Text } from '@mantine/core';
import { useParam } from '../parts/address.ts';
import { ImportDesk } from '../parts/imports/import-desk.tsx';
import { Page } from '../parts/page.tsx';

export default function Import() {
  const project = useParam('project');
  return (
    <Page title="Import">
      <Stack>
        <Text maw={760}>
          Logs of web servers, JSON lines, CSV, Parquet, and what PostHog’s batch exports have written, compressed or
          not. The same file twice adds nothing.
        </Text>
        <ImportDesk project={project} />
      </Stack>
    </Page>
  );
}
