/** The console's icons, drawn on a 16 px grid with one stroke. They are hidden from screen readers, which read the text. */
const paths = {
  fleet: "M3 4.5h10v5H3zM6 12.500h4M8 9.500v3",
  calls: "M2.5 8h2.500l2-4.5 2.5 9 2-4.500h2",
  approvals: "M8 1.8 13 4v3.600c0 3-2 5.3-5 6.6-3-1.3-5-3.6-5-6.600V4zM5.8 8l1.6 1.6 2.9-3.1",
  home: "M2.5 7.5 8 2.800l5.5 4.700M4 6.500v6.700h8V6.500M6.8 13v-3.200h2.400V13",
  overview: "M2.5 13.200h11M4.5 11V8M8 11V4M11.5 11V6.2",
  connect:
    "M6.5 9.5 3.8 12.200M12.2 3.8 9.5 6.500M5 6.8 9.2 11l1.6-1.600a2.3 2.3 0 0 0 0-3.200L9.8 5.200a2.3 2.3 0 0 0-3.2 0z",
  search: "M7 2.500a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.3 10.300l3.2 3.2",
  lock: "M4 7.200h8v6H4zM5.7 7.200V5.300a2.3 2.3 0 0 1 4.6 0v1.9",
  copy: "M5.5 5.500h7.700v7.700H5.500zM3 10.200V2.800h7.4",
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  alert: "M8 2.3 14 13H2zM8 6.500v3M8 11.200v.1",
  chevron: "M6 3.5 10.5 8 6 12.5",
  down: "M3.5 6 8 10.5 12.5 6",
  refresh: "M13 8a5 5 0 1 1-1.6-3.700M13 2.500v2.800h-2.8",
  play: "M5 3.2 12.5 8 5 12.800z",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  voice:
    "M6 4.300a2 2 0 0 1 4 0v3.400a2 2 0 0 1-4 0zM3.8 7.500a4.2 4.2 0 0 0 8.4 0M8 11.700v2M5.8 13.700h4.4",
  agent: "M2.5 3.500h11v7.500H8L5 13.500V11H2.500zM5.3 7.200v.1M8 7.200v.1M10.7 7.200v.1",
  incoming: "M9.5 3h3.500v10H9.500M2.5 8H9M6.5 5.5 9 8l-2.5 2.5",
  terminal: "M2.5 3.500h11v9h-11zM5 6.2 7 8.2 5 10.200M8.500 10.300h2.500",
  firmware:
    "M4.5 4.500h7v7h-7zM6.5 2.500v2M9.5 2.500v2M6.5 11.500v2M9.5 11.500v2M2.5 6.500h2M2.5 9.500h2M11.5 6.500h2M11.5 9.500h2",
  halt: "M5.5 3.500v9M10.5 3.500v9",
  upload: "M8 10.500v-8M4.8 5.500 8 2.300l3.2 3.200M2.8 10.500v3h10.400v-3",
  download: "M8 2.500v8M4.8 7.5 8 10.700l3.2-3.200M2.8 10.500v3h10.400v-3",
  mute: "M2.5 6.200h2.300L8 3.500v9L4.8 9.800H2.500zM10.5 6.200l3.5 3.600M14 6.200l-3.5 3.6",
  volume: "M2.5 6.200h2.300L8 3.500v9L4.8 9.800H2.500zM10.5 5.800a3 3 0 0 1 0 4.400M12.3 4a5.5 5.5 0 0 1 0 8",
  sun: "M8 5.300a2.7 2.7 0 1 1 0 5.4 2.7 2.7 0 0 1 0-5.400zM8 1.500v1.700M8 12.800v1.700M1.5 8h1.700M12.8 8h1.700M3.4 3.400l1.2 1.200M11.4 11.400l1.2 1.200M12.6 3.400l-1.2 1.200M4.6 11.400l-1.2 1.2",
  moon: "M13 9.600A5.5 5.5 0 0 1 6.4 3a5.5 5.5 0 1 0 6.6 6.600z",
  screen: "M2.5 3.500h11v7.300h-11zM6 13.200h4",
  globe: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM2.2 8h11.600M8 2c2.2 2 2.2 10 0 12M8 2c-2.2 2-2.2 10 0 12",
  camera:
    "M2.5 4.800h2.600l1-1.600h3.800l1 1.600h2.600v8H2.500zM8 6.500a2.2 2.2 0 1 1 0 4.4 2.2 2.2 0 0 1 0-4.400z",
  wifi: "M2 6.300a9 9 0 0 1 12 0M4.2 8.700a5.6 5.6 0 0 1 7.6 0M6.3 11a2.5 2.5 0 0 1 3.4 0M8 13v.1",
  battery: "M2 5.200h10v5.600H2zM14 7v2",
  tag: "M2.5 2.500h5l6 6-5 5-6-6zM5.3 5.300v.1",
  pencil: "M3 13l.6-2.800L10.8 3 13 5.2 5.8 12.400z",
  trash: "M3 4.500h10M6.3 4.500V3h3.400v1.500M4.3 4.500l.6 8.700h6.200l.6-8.7",
  clock: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 4.800V8l2.2 1.6",
  exit: "M9.5 3H3.500v10h6M7 8h6.500M11.2 5.5 13.7 8l-2.5 2.5",
  more: "M3.5 8v.1M8 8v.1M12.5 8v.1",
  bolt: "M9 1.8 3.5 9H8l-1 5.200L12.5 7H8z",
  thermometer: "M6.5 9.300V3.500a1.5 1.5 0 0 1 3 0v5.800a3 3 0 1 1-3 0z",
  bell: "M4 11.200V7.500a4 4 0 0 1 8 0v3.700l1 1H3zM6.8 13.800h2.4",
  key: "M9.8 6.200a2.8 2.8 0 1 1 0 .1zM9 8.7 3 13.200M5 11.700l1.3 1.7",
  audit: "M4 2.500h8v11H4zM6 5.500h4M6 8h4M6 10.500h2.500",
  settings:
    "M2.5 4.500h5M11 4.500h2.500M2.5 11.500h2.500M8.5 11.500h5M7.500 4.500a1.7 1.7 0 1 0 3.400 0 1.7 1.7 0 1 0-3.400 0M5 11.500a1.7 1.7 0 1 0 3.400 0 1.7 1.7 0 1 0-3.400 0",
  guides:
    "M8 4c-1.500-1-3.500-1.200-5.500-1v9.500c2-.2 4 0 5.500 1 1.500-1 3.500-1.200 5.500-1V3c-2-.2-4 0-5.500 1zM8 4v9.500",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === "more" ? 2.2 : 1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
      className="shrink-0"
    >
      <path d={paths[name]} />
    </svg>
  );
}

export function Logo({ size = 22 }: { readonly size?: number }) {
  return (
    <svg aria-hidden="true" width={size} height={size} viewBox="0 0 32 32" className="shrink-0">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <g fill="none" stroke="var(--on-accent)" strokeWidth="2.4" strokeLinecap="round">
        <path d="M9 10.5c4.5 0 9.5 11 14 11M9 21.500c4.5 0 9.5-11 14-11" />
      </g>
      <g fill="var(--on-accent)">
        <circle cx="9" cy="10.5" r="2.6" />
        <circle cx="9" cy="21.5" r="2.6" />
        <circle cx="23" cy="10.5" r="2.6" />
        <circle cx="23" cy="21.5" r="2.6" />
      </g>
    </svg>
  );
}
