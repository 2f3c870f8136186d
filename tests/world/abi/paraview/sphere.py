"""A wavelet that is spread over the ranks, a contour of it, its area and the points of each rank's part."""
from paraview.simple import *

source = Wavelet(WholeExtent=[-20, 20, -20, 20, -20, 20])
contour = Contour(Input=source, ContourBy=["POINTS", "RTData"], Isosurfaces=[150.0])
measure = IntegrateVariables(Input=contour)
area = servermanager.Fetch(measure).GetCellData().GetArray("Area").GetValue(0)
contour.UpdatePipeline()
pieces = contour.GetDataInformation().GetNumberOfCells()
from paraview import servermanager as sm
ranks = sm.vtkProcessModule.GetProcessModule().GetNumberOfLocalPartitions()
print(f"answer {ranks} {area:.6e} {pieces}", flush=True)
