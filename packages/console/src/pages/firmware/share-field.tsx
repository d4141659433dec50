import { useI18n } from "../../i18n/i18n.tsx";
import { Slider } from "../../ui/controls.tsx";

export function ShareField(props: { readonly share: number; readonly onChange: (share: number) => void }) {
  const { share, onChange } = props;
  const { t } = useI18n();
  return (
    <div className="grid gap-1">
      <span className="text-sm font-medium">{t("firmware.shareLabel")}</span>
      <span className="flex items-center gap-3">
        <Slider label={t("firmware.shareLabel")} min={0} max={100} value={share} onChange={onChange} />
        <output className="w-14 text-right">{share} %</output>
      </span>
    </div>
  );
}
