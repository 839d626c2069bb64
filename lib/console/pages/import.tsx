import { Card, Stack, Text, Title } from '@mantine/core';
import { useParam } from '../parts/address.ts';
import { Copied } from '../parts/copied.tsx';
import { Page } from '../parts/page.tsx';

export default function Import() {
  const project = useParam('project');
  return (
    <Page title="Import">
      <Stack maw={760}>
        <Text>
          Files are imported with the command line, on the machine that runs the service: the API takes no files. It
          reads logs of web servers, JSON lines, CSV, Parquet, and what PostHog’s batch exports have written, compressed
          or not. The same file twice adds nothing.
        </Text>
        <Card withBorder>
          <Title order={2} size="h4" mb="xs">
            In the service’s folder
          </Title>
          <Copied value={`npm run -s admin -- import access.log.gz --project ${project}`} what="the command" />
        </Card>
        <Card withBorder>
          <Title order={2} size="h4" mb="xs">
            What else it takes
          </Title>
          <Copied value="npm run -s admin -- import --help" what="the command of help" />
        </Card>
        <Text size="sm">
          It tells how far it is, copies what it cannot read into a file of its own, and ends with the command of the
          backfill that delivers what it has imported.
        </Text>
      </Stack>
    </Page>
  );
}
