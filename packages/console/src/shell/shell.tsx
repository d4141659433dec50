/** The frame of every page: navigation, connection state and account menu. */
import { useQueryClient } from "@tanstack/react-query";
import { consolePaths } from "@tendon/protocol";
import { Suspense, useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";
import { useWaitingCount } from "../api/approvals.ts";
import { api } from "../api/client.ts";
import { changeSession, signedOutSession } from "../api/queries.ts";
import { useSession } from "../api/session.tsx";
import { useI18n } from "../i18n/i18n.tsx";
import { useLive } from "../live/live-context.tsx";
import { Icon, Logo } from "../ui/icon.tsx";
import { Menu, MenuItem, MenuLabel, MenuLine } from "../ui/menu.tsx";
import { SkeletonRows } from "../ui/states.tsx";
import { Clock } from "../ui/time.tsx";
import { isHere, type Place, usePlaces } from "./navigation.ts";
import { Pages, usePagesFetchedAhead } from "./pages.tsx";
import { Palette, usePaletteKey } from "./palette.tsx";
import { LanguageMenu, PreferenceItems, ThemeMenu } from "./preferences.tsx";

export function Shell() {
  usePagesFetchedAhead();
  const { t } = useI18n();
  const [location] = useLocation();
  const [finding, setFinding] = usePaletteKey();
  const waiting = useWaitingCount();
  return (
    <div className="min-h-dvh md:grid md:grid-cols-[13rem_1fr]">
      <a
        href="#main"
        className="sr-only z-50 rounded-lg bg-accent px-3 py-2 text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        {t("shell.skip")}
      </a>
      <Sidebar location={location} waiting={waiting} onFind={() => setFinding(true)} />
      <div className="flex min-w-0 flex-col pb-16 md:pb-0">
        <ConnectionBanner />
        <main
          id="main"
          tabIndex={-1}
          className="mx-auto w-full max-w-6xl flex-1 px-4 py-5 outline-none md:px-8 md:py-7"
        >
          <Suspense fallback={<SkeletonRows />}>
            <Pages />
            <FocusOnPage location={location} />
          </Suspense>
        </main>
      </div>
      <BottomBar location={location} waiting={waiting} onFind={() => setFinding(true)} />
      <Palette open={finding} onClose={() => setFinding(false)} />
    </div>
  );
}

/**
 * Moves the focus to a new page when the focused element was on the old one, so that the keyboard does not start at the
 * top again. It is rendered beside the page, so that it waits until the page is loaded.
 */
function FocusOnPage({ location }: { readonly location: string }) {
  const shown = useRef(location);
  useEffect(() => {
    if (shown.current === location) return;
    shown.current = location;
    if (document.activeElement === document.body)
      document.getElementById("main")?.focus({ preventScroll: true });
  }, [location]);
  return null;
}

function Waiting({ count }: { readonly count: number }) {
  const { n } = useI18n();
  if (count === 0) return null;
  return (
    <span className="inline-flex h-4.5 min-w-4.5 items-center justify-center rounded-full bg-warn-soft px-1 text-xs leading-none font-semibold text-warn">
      <span aria-hidden="true">{count}</span>
      <span className="sr-only">{n("approvals.waiting", count)}</span>
    </span>
  );
}

function Sidebar(props: {
  readonly location: string;
  readonly waiting: number;
  readonly onFind: () => void;
}) {
  const { location, waiting, onFind } = props;
  const { t } = useI18n();
  const places = usePlaces();
  const administration = places.filter(({ group }) => group === "administration");
  const entry = (place: Place) => (
    <SidebarLink key={place.to} place={place} location={location} waiting={waiting} />
  );
  return (
    <aside className="sticky top-0 hidden h-dvh flex-col gap-1 border-r border-line px-3 py-4 md:flex">
      <Link href="/" className="mb-4 flex items-center gap-2 rounded-lg px-2 py-1 text-lg font-semibold">
        <Logo />
        Tendon
      </Link>
      <button
        type="button"
        onClick={onFind}
        className="mb-3 flex h-8 items-center gap-2 rounded-lg border border-line bg-surface px-2.5 text-sm text-soft hover:bg-raised"
      >
        <Icon name="search" size={14} />
        <span className="flex-1 text-left">{t("palette.open")}</span>
        <kbd className="font-sans text-xs">{isApple() ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      <nav
        aria-label={t("shell.nav")}
        className="-mx-1 flex min-h-0 flex-1 flex-col gap-0.5 overflow-y-auto px-1 py-1"
      >
        {places.filter(({ group }) => group === undefined).map(entry)}
        {administration.length > 0 && (
          <h2 className="mt-4 mb-1 px-2.5 text-xs font-medium text-soft">{t("nav.administration")}</h2>
        )}
        {administration.map(entry)}
      </nav>
      <div className="flex flex-col gap-2 pt-2">
        <div className="flex items-center justify-between">
          <UserMenu />
          <span className="flex">
            <LanguageMenu side="top" />
            <ThemeMenu side="top" />
          </span>
        </div>
      </div>
    </aside>
  );
}

function SidebarLink(props: { readonly place: Place; readonly location: string; readonly waiting: number }) {
  const { place, location, waiting } = props;
  const { t } = useI18n();
  return (
    <Link
      href={place.to}
      aria-current={isHere(place, location) ? "page" : undefined}
      className="flex h-8 shrink-0 items-center gap-2.5 rounded-lg px-2.5 text-soft transition-colors hover:bg-raised hover:text-text aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent-deep"
    >
      <Icon name={place.icon} />
      <span className="flex-1">{t(place.label)}</span>
      {place.to === consolePaths.approvals && <Waiting count={waiting} />}
    </Link>
  );
}

function SignOutItem() {
  const { t } = useI18n();
  const client = useQueryClient();
  const signOut = async () => {
    await api("/session", { method: "DELETE" });
    changeSession(client, signedOutSession);
  };
  return (
    <MenuItem icon="exit" onSelect={() => void signOut()}>
      {t("shell.signOut")}
    </MenuItem>
  );
}

function UserMenu() {
  const { t } = useI18n();
  const { principal, gateway } = useSession();
  return (
    <Menu
      side="top"
      align="start"
      trigger={
        <button
          type="button"
          className="flex h-8 max-w-28 items-center gap-2 rounded-lg px-2 text-sm text-soft hover:bg-raised hover:text-text"
        >
          <Icon name="key" size={14} />
          <span className="truncate">{principal.name}</span>
        </button>
      }
    >
      <MenuLabel>
        {t("shell.signedInAs", { name: principal.name })}
        <br />
        Tendon {gateway.version}
      </MenuLabel>
      <SignOutItem />
    </Menu>
  );
}

function isApple(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.userAgent);
}

function BottomBar(props: {
  readonly location: string;
  readonly waiting: number;
  readonly onFind: () => void;
}) {
  const { location, waiting, onFind } = props;
  const { t } = useI18n();
  const places = usePlaces();
  const [first, rest] = [places.slice(0, 4), places.slice(4)];
  const administration = rest.filter(({ group }) => group === "administration");
  const [, navigate] = useLocation();
  const entry = (place: Place) => (
    <MenuItem key={place.to} icon={place.icon} onSelect={() => navigate(place.to)}>
      {t(place.label)}
    </MenuItem>
  );
  // An entry is as wide as its text and a share of the rest, because long words need more than a fifth of a phone.
  return (
    <nav
      aria-label={t("shell.nav")}
      className="fixed inset-x-0 bottom-0 z-30 flex border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {first.map((place) => (
        <Link
          key={place.to}
          href={place.to}
          aria-current={isHere(place, location) ? "page" : undefined}
          className="flex h-14 min-w-0 flex-auto flex-col items-center justify-center gap-1 text-xs text-soft aria-[current=page]:text-accent-deep"
        >
          <span className="relative">
            <Icon name={place.icon} size={18} />
            {place.to === consolePaths.approvals && (
              <span className="absolute -top-1.5 left-3">
                <Waiting count={waiting} />
              </span>
            )}
          </span>
          <span className="max-w-full truncate px-1">{t(place.label)}</span>
        </Link>
      ))}
      <Menu
        side="top"
        trigger={
          <button
            type="button"
            className="flex h-14 min-w-0 flex-auto flex-col items-center justify-center gap-1 text-xs text-soft"
          >
            <Icon name="more" size={18} />
            <span className="max-w-full truncate px-1">{t("nav.more")}</span>
          </button>
        }
      >
        <MenuItem icon="search" onSelect={onFind}>
          {t("palette.open")}
        </MenuItem>
        {rest.filter(({ group }) => group === undefined).map(entry)}
        {administration.length > 0 && <MenuLabel>{t("nav.administration")}</MenuLabel>}
        {administration.map(entry)}
        <MenuLine />
        <PreferenceItems />
        <SignOutItem />
      </Menu>
    </nav>
  );
}

/** Shows that the data is no longer live, and since when. */
function ConnectionBanner() {
  const { t } = useI18n();
  const state = useLive();
  return (
    <div role="status" aria-live="polite" className="sticky top-0 z-20">
      {state.kind === "reconnecting" && (
        <p className="flex items-center justify-center gap-2 bg-warn-soft px-4 py-2 text-sm text-warn">
          <Icon name="refresh" size={14} />
          <span>
            {t("live.reconnecting")} <Clock at={new Date(state.since).toISOString()} />
          </span>
        </p>
      )}
    </div>
  );
}
