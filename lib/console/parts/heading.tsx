import { Title, type TitleProps } from '@mantine/core';

/** What a part of a page is about. */
export const Heading = (props: Omit<TitleProps, 'order' | 'size'>) => <Title order={2} size="h4" {...props} />;
