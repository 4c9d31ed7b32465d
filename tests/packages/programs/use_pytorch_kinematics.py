"""Robots: forward kinematics, Jacobians and inverse kinematics of an arm by pytorch-kinematics."""
import pytorch_kinematics as pk
import torch
from report import tell

ARM = """<robot name="arm"><link name="base"/><link name="one"/><link name="two"/><link name="hand"/>
<joint name="a" type="revolute"><parent link="base"/><child link="one"/><origin xyz="0 0 0.3"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
<joint name="b" type="revolute"><parent link="one"/><child link="two"/><origin xyz="0.4 0 0" rpy="0 0.2 0"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<joint name="c" type="prismatic"><parent link="two"/><child link="hand"/><origin xyz="0.3 0 0"/><axis xyz="1 0 0"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint></robot>"""


def main():
    torch.manual_seed(0)
    chain = pk.build_serial_chain_from_urdf(ARM.encode(), "hand").to(dtype=torch.float64)
    angles = torch.rand(5, 3, dtype=torch.float64, requires_grad=True)
    pose = chain.forward_kinematics(angles).get_matrix()
    tell("pose", pose)
    pose[:, :3, 3].pow(2).sum().backward()
    tell("gradient", angles.grad)
    tell("jacobian", chain.jacobian(angles.detach()))
    tell("euler", pk.matrix_to_euler_angles(pose[:, :3, :3].detach(), "XYZ"))
    tell("quaternion", pk.matrix_to_quaternion(pose[:, :3, :3].detach()))


main()
