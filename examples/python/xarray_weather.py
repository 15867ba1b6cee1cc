"""xarray's labels on tensors: a year of temperatures over a grid of places: xarray_weather.py [DEVICE]"""

import sys

import backplane as bp
import xarray as xr

plain = {"skipna": False}  # else xarray looks for NaN by functions of NumPy's, and the results are its arrays
device = sys.argv[1] if len(sys.argv) > 1 else "cpu:0"
bp.manual_seed(2)
day, lat, lon = bp.arange(360.0), bp.linspace(-60, 60, 5), bp.linspace(0, 270, 4)
season = 10 * bp.sin(2 * bp.pi * day / 360)[:, None, None] * (lat / 60)[None, :, None]
values = (25 - lat.abs()[None, :, None] / 3 + season + bp.randn(360, 5, 4)).to(device)
air = xr.DataArray(values, dims=("day", "lat", "lon"), coords={"lat": lat.tolist(), "lon": lon.tolist()}, name="air")

zones = air.mean(("day", "lon"), **plain)
print(type(zones.data).__name__, "on", zones.data.device, "with the labels", zones.dims)
print("a year's mean by latitude:", [round(each, 1) for each in zones.data.tolist()])
anomaly = air - air.mean("day", **plain)  # by names, whatever the order of the dimensions
print(f"largest anomaly: {anomaly.max(**plain).item():.1f}")
summer = air.isel(day=slice(60, 120)).sel(lat=60.0).mean(**plain)
winter = air.isel(day=slice(240, 300)).sel(lat=60.0).mean(**plain)
print(f"at 60 degrees north, summer is {float(summer - winter):.0f} degrees warmer")
warm = xr.where(air > 20, 1.0, 0.0).sum("day", **plain)
print("days above 20 degrees at the equator:", warm.sel(lat=0.0).data.tolist())
by_month = air.assign_coords(month=("day", [n // 30 for n in range(360)])).groupby("month")
months = by_month.mean(**plain)
print("months:", dict(months.sizes), "- products summed over places:", xr.dot(months, months, dim=("lat", "lon")).dims)
kelvin = xr.apply_ufunc(lambda x: x + 273.15, air)
print("the same places, in kelvin:", round(float(kelvin.mean(**plain)), 1), kelvin.data.dtype)
