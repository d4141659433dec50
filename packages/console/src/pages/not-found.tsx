/** An unknown address: the most similar page, and a search of everything. */
import { consolePaths, nearNames } from "@tendon/protocol";
import { Link, useLocation } from "wouter";
import { useI18n } from "../i18n/i18n.tsx";
import { usePlaces } from "../shell/navigation.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { Finder } from "../shell/palette.tsx";
import { Icon } from "../ui/icon.tsx";

export function NotFoundPage() {
  const { t } = useI18n();
  const [location] = useLocation();
  const near = useNearPlaces(location);
  return (
    <div className="mx-auto max-w-2xl">
      <PageHeader title={t("notFound.title")} lead={t("notFound.address", { path: location })} />
      <div className="mb-5 flex flex-wrap items-center gap-x-3 gap-y-2">
        {near.length > 0 && <span className="text-soft">{t("notFound.near")}</span>}
        {near.map(({ to, icon, label }) => (
          <Link
            key={to}
            href={to}
            className="inline-flex h-8 items-center gap-2 rounded-lg border border-line-strong bg-surface px-3 text-sm font-medium hover:bg-raised"
          >
            <Icon name={icon} size={15} />
            {t(label)}
          </Link>
        ))}
        {near.length === 0 && (
          <Link href={consolePaths.fleet} className="rounded text-accent-deep underline">
            {t("notFound.back")}
          </Link>
        )}
      </div>
      <section
        aria-label={t("notFound.search")}
        className="overflow-hidden rounded-xl border border-line bg-surface"
      >
        <Finder onClose={() => undefined} />
      </section>
    </div>
  );
}

/** Pages whose address is similar to the first part of this one, such as /token or /device/desk. */
function useNearPlaces(location: string) {
  const places = usePlaces();
  const [, first = ""] = location.split("/");
  const byWord = new Map(places.map((place) => [place.to === "/" ? "devices" : place.to.slice(1), place]));
  return nearNames(first, byWord.keys()).flatMap((word) => byWord.get(word) ?? []);
}
