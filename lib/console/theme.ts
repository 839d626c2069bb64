/** Colours that everybody can read: each text has at least 4.5 times the contrast of what it stands on. */
import { type CSSVariablesResolver, createTheme } from '@mantine/core';

/** The title of a dialog is not the header of the page, which a `header` would be. */
const NO_LANDMARK = { defaultProps: { component: 'div' } };

/** The name of the button that closes a dialog, which shows a cross. */
const CLOSE = { defaultProps: { 'aria-label': 'Close' } };

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    ModalHeader: NO_LANDMARK,
    DrawerHeader: NO_LANDMARK,
    ModalCloseButton: CLOSE,
    DrawerCloseButton: CLOSE,
  },
});

export const variables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': colors.gray[7] ?? '',
    '--mantine-color-placeholder': colors.gray[7] ?? '',
    '--mantine-color-error': colors.red[9] ?? '',
    '--mantine-color-anchor': colors.indigo[8] ?? '',
    '--mantine-color-indigo-light-hover': colors.indigo[1] ?? '',
  },
  dark: {
    '--mantine-color-dimmed': colors.dark[1] ?? '',
    '--mantine-color-placeholder': colors.dark[1] ?? '',
    '--mantine-color-error': colors.red[4] ?? '',
    '--mantine-color-anchor': colors.indigo[3] ?? '',
  },
});
