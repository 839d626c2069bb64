import { Anchor, Container, Text, Title } from '@mantine/core';

export function NotFound() {
  return (
    <Container component="main" py="xl">
      <Title order={1}>Not found</Title>
      <Text>
        There is no page at this address. <Anchor href="#/">Begin at the start</Anchor>.
      </Text>
    </Container>
  );
}
