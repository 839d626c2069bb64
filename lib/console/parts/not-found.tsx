import { Anchor, Container, Text } from '@mantine/core';
import { Page } from './page.tsx';

/** The page at an address that has none. */
export function NotFound() {
  return (
    <Container component="main" py="xl">
      <NothingHere what="There is no page at this address." />
    </Container>
  );
}

/** Says, in the place of a page, what there is not, and leads to the start. */
export function NothingHere({ what }: { readonly what: string }) {
  return (
    <Page title="Not found">
      <Text>
        {what} <Anchor href="#/">Begin at the start</Anchor>.
      </Text>
    </Page>
  );
}
