import { Container, Group, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { Awaited, type AwaitedProps, MayBeOld } from './problem.tsx';

interface PageProps {
  readonly title: string;
  /** Buttons beside the title. */
  readonly actions?: ReactNode;
  /** What the page shows, where it is read again and again: it says so when that fails. */
  readonly asked?: AwaitedProps['asked'];
  readonly children: ReactNode;
}

/** A page's heading, its actions and its content; the title is that of the tab too. */
export function Page({ title, actions, asked, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Workspace`;
  }, [title]);
  return (
    <Container fluid px={0}>
      <Group justify="space-between" mb="md" gap="sm">
        <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
          {title}
        </Title>
        <Group gap="xs">{actions}</Group>
      </Group>
      {asked !== undefined && <MayBeOld error={asked.error} retry={() => void asked.refetch()} />}
      {children}
    </Container>
  );
}

interface AwaitedPageProps extends AwaitedProps {
  readonly title: string;
}

/** A page of which nothing is known yet: its content is on its way, or was refused. */
export function AwaitedPage({ title, asked }: AwaitedPageProps) {
  return (
    <Page title={title}>
      <Awaited asked={asked} />
    </Page>
  );
}
